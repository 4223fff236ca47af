"""A grid file as plain tables: read within limits, and every complaint names the file and a line of it."""

import itertools
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onlooker.errors import UserError, nearest, printable

MOST_BYTES = 200_000
LONGEST_LINE = 4_000  # also keeps out what TOML readers take for ever over: long dotted keys, numbers of many digits
DEEPEST = 8  # lists and tables within each other
LONGEST_COMPLAINT = 1_000
TABLES = ("defaults", "cells")


class GridFile:
    """The tables of a grid file."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._lines: list[str] = []
        text = self._read()
        self._lines = text.splitlines()
        for number, line in enumerate(self._lines, 1):
            if len(line) > LONGEST_LINE:
                raise self._at(number, f"longer than {LONGEST_LINE:,} characters; a list may go over many lines")
        data = self._parse(text)
        self.defaults, self.cells = self._tables(data)

    def refuse(self, number: int, failure: object) -> UserError:
        """A complaint about the cells table of this number, from 1 on, or about the defaults, 0."""
        return self._at(self._line(number, str(failure)), str(failure))

    def _at(self, line: int, complaint: str) -> UserError:
        if len(complaint) > LONGEST_COMPLAINT:
            complaint = complaint[:LONGEST_COMPLAINT] + " ..."
        return UserError(printable(f"{self.path}, line {line}: {complaint}"))

    def _read(self) -> str:
        try:
            kind = self.path.stat()
            if not stat.S_ISREG(kind.st_mode):  # a pipe would be waited for
                what = "a folder" if stat.S_ISDIR(kind.st_mode) else "no regular file"
                raise UserError(printable(f"can't read the grid file {self.path}: it is {what}"))
            with self.path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as failure:
            reason = getattr(failure, "strerror", None) or failure
            raise UserError(printable(f"can't read the grid file {self.path}: {reason}")) from failure
        if len(data) > MOST_BYTES:
            raise UserError(printable(f"{self.path} is no grid file: it has more than {MOST_BYTES:,} bytes"))
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as failure:
            line = data[: failure.start].count(b"\n") + 1
            raise self._at(line, f"no UTF-8 text (byte {data[failure.start]:#04x})") from None

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            return tomllib.loads(text)
        except RecursionError:
            raise self._at(self._deepest(), "lists or tables are nested too deeply") from None
        except ValueError as failure:  # says the line itself, at its end
            found = re.search(r" ?\(at (?:line (\d+), column \d+|end of document)\)$", str(failure))
            if found is None:
                raise UserError(printable(f"{self.path}: {failure}")) from None
            line = int(found[1]) if found[1] else max(len(self._lines), 1)
            raise self._at(line, str(failure)[: found.start()]) from None

    def _deepest(self) -> int:
        """The line on which brackets first go deeper than they may."""
        depth = 0
        for number, line in enumerate(self._lines, 1):
            depth += line.count("[") + line.count("{") - line.count("]") - line.count("}")
            if depth > DEEPEST:
                return number
        return 1

    def _tables(self, data: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        for key in data:
            if key not in TABLES:
                raise self.refuse(0, f"unknown table {key!r}{nearest(key, TABLES)}")
        defaults, cells = data.get("defaults", {}), data.get("cells", [])
        if not isinstance(defaults, dict):
            raise self.refuse(0, "'defaults' must be a table: [defaults], and settings below it")
        if not isinstance(cells, list) or not all(isinstance(table, dict) for table in cells):
            raise self.refuse(0, "'cells' must be tables, each under [[cells]] in double brackets")
        if not cells:
            raise UserError(printable(f"{self.path} holds no [[cells]]"))
        for number, table in enumerate([defaults, *cells]):
            for key, value in table.items():
                for wrong in _wrong(key, value):
                    raise self.refuse(number, wrong)
        return defaults, cells

    def _line(self, number: int, complaint: str) -> int:
        """The line that a complaint is about: the first with a word that it quotes or an option that it names, in its
        own table, else anywhere; else where its table begins."""
        heads = [index for index, line in enumerate(self._lines) if line.lstrip().startswith("[")]
        own = "[[cells]]" if number else "[defaults]"
        tables = [index for index in heads if self._lines[index].lstrip().startswith(own)]
        begin = tables[max(number, 1) - 1] if max(number, 1) <= len(tables) else 0
        end = next((index for index in heads if index > begin), len(self._lines))
        options = [name.replace("-", "_") for name in re.findall(r"--(?:[\w-]+\.)?([\w-]+)", complaint)]
        options += re.findall(r"\w\.(\w+):", complaint)
        words = [rf"(?<![\w-]){re.escape(word)}(?![\w-])" for word in re.findall(r"(?<!\w)'([^']+)'", complaint)]
        words += [rf"(?<![\w-]){name}\s*=" for name in options]
        for lines in (range(begin, end), range(len(self._lines))):
            for word, index in itertools.product(words[:10], lines):
                if re.search(word, self._lines[index]):
                    return index + 1
        return begin + 1


def _wrong(key: str, value: Any) -> Iterator[str]:
    """What no setting may be, whatever it is called."""
    if value == []:
        yield f"{key!r} is an empty list: it makes no cells"
    waiting = [(key, 0), (value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > DEEPEST:
            yield f"{key!r} is nested too deeply"
            return
        if isinstance(item, dict):
            waiting += [(inner, depth + 1) for pair in item.items() for inner in pair]
        elif isinstance(item, list):
            waiting += [(inner, depth + 1) for inner in item]
        elif isinstance(item, str):
            if not item.isprintable():
                yield f"{key!r} holds a character that can't be printed"
        elif isinstance(item, int):
            if abs(item) >= 2**63:
                yield f"{key!r} is too large a number"
        elif not isinstance(item, float):
            yield f"{key!r} is a {type(item).__name__}; settings are texts, numbers, true or false, lists and tables"
