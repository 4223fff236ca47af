"""A table that is being written: what was read stays, and only what came since is read."""

import os
from pathlib import Path

from onlooker.report.intake import LARGEST_TABLE, Columns, opened
from onlooker.report.reading import Table

TAIL = 256  # bytes by which a file is known again


class Growing:
    """The wanted columns of a CSV of numbers that grows at its end.

    A last line without an end is not whole yet: it is read when it is. A file that was replaced, cut or written anew is
    read from its beginning.
    """

    def __init__(self, path: Path, wanted: tuple[str, ...]) -> None:
        self._path, self._wanted = path, wanted
        self._forget()

    def _forget(self) -> None:
        self._columns, self._end, self._tail = Columns(self._wanted), 0, b""

    def read(self) -> Table:
        """All that is whole by now."""
        with opened(self._path, LARGEST_TABLE) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(self._end - len(self._tail))
            if stream.read(len(self._tail)) != self._tail:
                self._forget()
                stream.seek(0)
            new = stream.read(max(0, size - self._end))
        new = new[: new.rfind(b"\n") + 1]
        for line in new.decode(errors="replace").split("\n")[:-1]:
            self._columns.add(line + "\n")
        self._end += len(new)
        self._tail = (self._tail + new)[-TAIL:]
        return Table(self._columns.arrays(), self._columns.torn, self._end > 0)
