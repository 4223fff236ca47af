"""What comes in from files that anyone may have written: plain files only, their size first, no text that does harm."""

import math
import os
import stat
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeGuard

import numpy as np

from onlooker.errors import printable
from onlooker.storage import parse_json

LARGEST_JSON = 4 << 20  # bytes; a config has 2,000
LARGEST_TABLE = 64 << 20  # bytes; 5 million steps of metrics have less than 1 MB
LONGEST_LINE = 1 << 20  # bytes
LONGEST_TEXT = 1000  # letters of a name or a note
DEEPEST = 50  # parts within parts
LARGEST_NUMBER = 1e30  # of those that are averaged and drawn: what is larger counts as none


class Unreadable(Exception):
    """A file can't be used, and why."""


def clean(text: str) -> str:
    """A text from a file as it may stand on a page: no control characters, and not without end."""
    shown = printable(text[: LONGEST_TEXT + 1])
    return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 3] + "..."


def finite(value: Any) -> TypeGuard[float]:
    """Whether something is a number to reckon with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_NUMBER


@contextmanager
def opened(path: Path, most: int) -> Iterator[IO[bytes]]:
    """A plain file of at most so many bytes: a pipe would be waited for, a large file fill the memory."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable(f"{path.name} is no plain file")
        if about.st_size > most:
            raise Unreadable(f"{path.name} has {about.st_size:,} bytes, and {most:,} are allowed")
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is missing") from None
    except OSError as failure:
        raise Unreadable(f"can't read {path.name}: {failure.strerror or failure}") from failure


def read_bytes(path: Path, most: int) -> bytes:
    """All of a file."""
    with opened(path, most) as stream:
        return stream.read(most)


def read_end(path: Path, size: int) -> str:
    """The last bytes of a file, as text."""
    with opened(path, 1 << 62) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - size))
        return stream.read(size).decode(errors="replace")


def read_object(path: Path, most: int = LARGEST_JSON) -> dict[str, Any]:
    """A JSON object from a file; all texts in it are clean."""
    try:
        data = parse_json(read_bytes(path, most))
    except ValueError as failure:
        raise Unreadable(f"{path.name} is no JSON ({failure})") from failure
    if not isinstance(data, dict):
        raise Unreadable(f"{path.name} holds no JSON object")
    return _cleaned(data, path.name, DEEPEST)


def _cleaned(value: Any, name: str, depth: int) -> Any:
    if depth < 0:
        raise Unreadable(f"{name} is nested deeper than {DEEPEST}")
    if isinstance(value, dict):
        return {clean(key): _cleaned(entry, name, depth - 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry, name, depth - 1) for entry in value]
    if isinstance(value, int) and abs(value) >= 2**64:
        raise Unreadable(f"{name} holds a whole number of more than 64 bits")
    return clean(value) if isinstance(value, str) else value


def lines(stream: IO[bytes], name: str, most: int = LARGEST_TABLE) -> Iterator[str]:
    """The lines of a text with their ends, at most so many bytes: a small packed file may unpack to anything."""
    taken = 0
    while line := stream.readline(LONGEST_LINE):
        taken += len(line)
        if taken > most:
            raise Unreadable(f"{name} unpacks to more than {most:,} bytes")
        yield line.decode(errors="replace")


class Columns:
    """The wanted columns of a CSV of numbers, line by line. A line that is not whole is left out and counted."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = tuple(wanted)
        self._header: list[str] = []
        self._columns: dict[str, array] = {}
        self.torn = 0

    def add(self, line: str) -> None:
        """The next line, with its end: a crash may leave half a line."""
        cells = line.rstrip("\r\n").split(",")
        whole = line.endswith("\n")
        if not self._header and whole:
            self._header = cells
            self._columns = {name: array("d") for name in self._wanted if name in cells}
            return
        try:
            numbers = dict(zip(self._header, map(float, cells), strict=True))
            if not whole or not abs(numbers.get("steps", 0.0)) <= LARGEST_NUMBER:
                raise ValueError
        except ValueError:
            self.torn += 1
            return
        for name, column in self._columns.items():
            column.append(numbers[name] if abs(numbers[name]) <= LARGEST_NUMBER else math.nan)

    def arrays(self) -> dict[str, np.ndarray]:
        """What there is of them."""
        return {name: np.array(column) for name, column in self._columns.items()}


def read_columns(text: Iterable[str], wanted: Iterable[str]) -> tuple[dict[str, np.ndarray], int]:
    """The wanted columns of a CSV of numbers, and how many lines are not whole."""
    columns = Columns(wanted)
    for line in text:
        columns.add(line)
    return columns.arrays(), columns.torn
