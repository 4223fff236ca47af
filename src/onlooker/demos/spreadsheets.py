"""Recordings as tables of numbers: .csv, .tsv and .txt, with or without a header."""

import itertools
import math
import re
from array import array
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from onlooker.demos.dataset import Demos, brief, from_arrays, listed
from onlooker.demos.files import new_file, reading
from onlooker.errors import UserError

ENDINGS = (".csv", ".tsv", ".txt")
MAX_BYTES, MAX_LINE = 512 * 2**20, 2**20  # of a table, and of a line


def read_csv(path: str | Path) -> Demos:
    """Read a table with a row a state; cells apart by comma, semicolon, tab or blanks; `#` lines are skipped.

    A header names columns obs_0.., action_0.., next_obs_0.., episode, terminated, truncated. Without one, all is obs.
    """
    path = Path(path)
    with reading(path, "a table of numbers"), open_table(path) as (names, rows):
        places, ignored = _columns(names)
        used = sorted(itertools.chain(*places.values()))
        table = _table(rows, names, used)
        arrays: dict[str, Any] = {key: table[:, np.searchsorted(used, places[key])] for key in places}
        for key in ("terminated", "truncated", "episode"):
            if key in arrays:
                arrays[key] = arrays[key][:, 0]
        if "episode" in arrays:
            for row in np.flatnonzero(~np.isfinite(arrays["episode"]))[:1]:
                raise UserError(f"episode is {arrays['episode'][row]} at row {row}, column {places['episode'][0]}")
            arrays["lengths"] = _runs(arrays.pop("episode"))
        return from_arrays(arrays, ignored)


@contextmanager
def open_table(path: Path) -> Iterator[tuple[list[str], Iterator[tuple[int, list[str]]]]]:
    """The names of a table's columns, obs_0.. where it has no header, and its lines as `_rows` gives them."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise UserError(f"a table of {size / 2**20:,.0f} MiB; the limit is {MAX_BYTES // 2**20} MiB: use .npz or .hdf5")
    with open(path, newline=None, encoding="utf-8-sig") as file:
        rows = _rows(file)
        first_line, names = next(rows, (0, []))
        if any(_number(cell) is not None for cell in names):  # numbers, so not a header
            rows = itertools.chain([(first_line, names)], rows)
            names = [f"obs_{column}" for column in range(len(names))]
        yield names, rows


def _rows(file: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """Line numbers from 1, and the cells of each line that has any. The first line shows what parts the cells."""
    separator, seen = None, False
    for number in itertools.count(1):
        line = file.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise UserError(f"line {number} is longer than {MAX_LINE:,} characters: not a table of numbers")
        text = line.strip("\n ")
        if not text or text.startswith("#"):
            continue
        if not seen:
            separator, seen = next((mark for mark in ";\t," if mark in text), None), True
        yield number, [cell.strip().strip('"') for cell in text.split(separator)]


def _number(cell: str) -> float | None:
    """The number in a cell, or None. True and false are 1 and 0."""
    try:
        return float(cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(cell.lower())


def _columns(names: list[str]) -> tuple[dict[str, list[int]], list[str]]:
    """Where the columns of each key are, in the order of their numbers; and the names that mean nothing here."""
    numbered: dict[str, dict[int, int]] = {}
    ignored = []
    for place, name in enumerate(names):
        if match := re.fullmatch(r"(obs|action|next_obs)_(\d{1,6})|(episode|terminated|truncated)", name.lower()):
            columns = numbered.setdefault(match[1] or match[3], {})
            if int(match[2] or 0) in columns:
                raise UserError(f"two columns are named {name!r}")
            columns[int(match[2] or 0)] = place
        else:
            ignored.append(name)
    if "obs" not in numbered:
        raise UserError(
            f"no column is named obs_0, obs_1, ... (found: {listed(names)}): --env says whose joints they are"
        )
    for key, columns in numbered.items():
        missing = sorted(set(range(len(columns))) - columns.keys())
        if missing:
            raise UserError(f"column {key}_{missing[0]} is missing: they are numbered from 0 without a gap")
    return {key: [columns[i] for i in range(len(columns))] for key, columns in numbered.items()}, ignored


def _table(
    rows: Iterable[tuple[int, list[str]]], names: list[str], used: list[int], empty: float | None = None
) -> np.ndarray:
    """[rows, used columns] float64."""
    values = array("d")
    for line, cells in rows:
        if len(cells) != len(names):
            raise UserError(f"line {line}: {len(cells)} cells, but the first row has {len(names)}")
        for column in used:
            value = _number(cells[column]) if cells[column] else empty
            if value is None:
                where = f"line {line}, column {column + 1} ({brief(names[column])})"
                raise UserError(f"{where}: {brief(repr(cells[column]))} is not a number")
            values.append(value)
    return np.array(values).reshape(-1, len(used))


def names_joints(path: str | Path) -> bool:
    """Whether it is a table with a header of other names than obs_0, obs_1, ..."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS or not path.is_file():
        return False
    with reading(path, "a table of numbers"), open_table(path) as (names, _):
        return bool(names) and not any(re.fullmatch(r"(next_)?obs_\d+", name.lower()) for name in names)


def read_named(path: str | Path, left_out: Collection[str] = ()) -> tuple[list[str], np.ndarray]:
    """The names of a table's columns and its numbers [T, C]; an empty cell is NaN, and so is all that is left out."""
    path = Path(path)
    with reading(path, "a table of numbers"), open_table(path) as (names, rows):
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise UserError(f"two columns are named {brief(repr(twice))}")
        used = [column for column, name in enumerate(names) if name not in left_out]
        numbers = _table(rows, names, used, empty=math.nan)
        table = np.full((len(numbers), len(names)), np.nan)
        table[:, used] = numbers
        return names, table


def _runs(labels: np.ndarray) -> np.ndarray:
    """[E] the lengths of the runs of equal labels [T]."""
    starts = np.flatnonzero(np.diff(labels, prepend=np.nan) != 0)
    names, times = np.unique(labels[starts], return_counts=True)
    if (times > 1).any():
        raise UserError(f"episode {names[times > 1][0]:g} is in two places: an episode's rows must follow each other")
    return np.diff(starts, append=len(labels))


def write_csv(path: str | Path, demos: Demos, *, overwrite: bool = False) -> None:
    """Write a comma-separated table with a header. Numbers come back exactly; metadata is not kept."""
    parts: dict[str, np.ndarray] = {"episode": np.repeat(np.arange(len(demos.lengths)), demos.lengths)}
    for key in ("obs", "action", "next_obs"):
        values = getattr(demos, key)
        parts |= {} if values is None else {f"{key}_{i}": column for i, column in enumerate(values.T)}
    for key in ("terminated", "truncated"):
        parts |= {} if getattr(demos, key) is None else {key: getattr(demos, key)}
    table = np.column_stack([column.astype(np.float64) for column in parts.values()])
    with new_file(Path(path), overwrite) as stream:
        np.savetxt(stream, table, "%.9g", ",", header=",".join(parts), comments="")  # 9 digits tell float32 apart
