"""Many runs in one small folder: runs.csv, curves.csv.gz, configs.json, analysis.json. A report rebuilds from them."""

import csv
import gzip
import io
import json
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.errors import UserError, printable
from onlooker.report.entry import COLUMNS, CURVE, LATER, MORE_NUMBERS, NUMBERS, ROWS, STATES, USABLE, Run, thin
from onlooker.report.intake import LARGEST_NUMBER, Unreadable, clean, lines, opened, read_object
from onlooker.report.reading import checked_analysis, checked_config, described
from onlooker.report.variants import named
from onlooker.report.world_names import natural
from onlooker.storage import atomic

MARK = "packed.json"
CONFIGS = "configs.json"
ANALYSES = "analysis.json"
CURVES = "curves.csv.gz"
TABLE = "runs.csv"
LAYOUT = 1  # of the packed folder; packed.json names it
LARGEST = 64 << 20  # bytes of any of these files; 200 runs have 1 MB


def is_packed(folder: Path) -> bool:
    """Whether the folder was packed by a report."""
    return (folder / MARK).is_file()


def pack(runs: list[Run], folder: Path) -> int:
    """Write the runs as a packed folder, beside those that are packed there already; how many it holds now.

    A folder that holds something else is refused, and so is one in which a packed run can't be read any more.
    """
    if folder.exists() and not is_packed(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already and was not packed by a report; choose another --pack")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise UserError(f"can't make the folder {folder}: {failure.strerror}") from failure
    if is_packed(folder):
        try:
            before = unpack(folder, "", ROWS, strict=True)
        except Unreadable as failure:
            raise UserError(printable(f"can't add to the packed folder {folder}: {failure}")) from failure
        runs = named(_joined(before, runs))
    configs = {run.name: run.config for run in runs if run.config}
    analyses = {run.name: run.analysis for run in runs if run.analysis}
    _write(folder / MARK, _json({"packed runs": len(runs), "format": LAYOUT}))
    _write(folder / CONFIGS, _json(configs))
    _write(folder / ANALYSES, _json(analyses))
    _write(folder / CURVES, gzip.compress(_curves(runs), mtime=0))
    _write(folder / TABLE, _table(COLUMNS, ([run.row()[name] for name in COLUMNS] for run in runs)))
    return len(runs)


def _joined(before: list[Run], now: list[Run]) -> list[Run]:
    """Runs of both, by name. Of two with one name the later one counts, unless only the earlier one is finished."""
    runs = {run.name: run for run in before}
    runs |= {run.name: run for run in now if run.state == "finished" or runs.get(run.name, run).state != "finished"}
    return [runs[name] for name in sorted(runs, key=natural)]


def unpack(folder: Path, above: str, rows: int, strict: bool = False) -> list[Run]:
    """The runs of a packed folder; `above` goes before their names. One that can't be read is called so, or refused."""
    mark = read_object(folder / MARK)
    if mark.get("format") != LAYOUT:
        raise Unreadable(f"its layout is {mark.get('format')}, and this version reads {LAYOUT}")
    configs, analyses = read_object(folder / CONFIGS, LARGEST), read_object(folder / ANALYSES, LARGEST)
    table = _read_table(folder / TABLE)
    curves = _read_curves(folder / CURVES, {row["run"] for row in table})
    runs = []
    for row in table:
        name = row["run"]
        try:
            run = _run(row, above, configs.get(name), analyses.get(name, {}), thin(curves.get(name, {}), rows))
        except (Unreadable, ValueError) as failure:
            if strict:
                raise Unreadable(f"{name}: {failure}") from failure
            run = Run(above + name, "unreadable", clean(str(failure)))
        runs.append(run)
    return runs


def _run(row: dict[str, str], above: str, config: Any, analysis: Any, curve: dict[str, np.ndarray]) -> Run:
    name, state, notes = above + row["run"], row["state"], [row["note"]]
    if state not in STATES:
        raise Unreadable(f"{TABLE} calls it {state!r} (good: {', '.join(STATES)})")
    if config is None and state in USABLE:
        raise Unreadable(f"{CONFIGS} has no config of it")
    if config is None:
        return Run(name, state, row["note"])
    try:
        measured = checked_analysis(analysis)
    except Unreadable as failure:
        measured = {}
        notes.append(str(failure))
    return Run(
        name,
        state,
        "; ".join(filter(None, notes)),
        **described(checked_config(config)),
        steps=int(row["steps"]),
        numbers={name: _read_number(row[name]) for name in (*NUMBERS, *MORE_NUMBERS)},
        curve=curve,
        analysis=measured,
    )


def _read_table(path: Path) -> list[dict[str, str]]:
    """The rows of `runs.csv`, every text clean."""
    try:
        with opened(path, LARGEST) as stream:
            reader = csv.DictReader(lines(stream, path.name))
            missing = set(COLUMNS) - set(reader.fieldnames or ())
            if missing:
                raise Unreadable(f"{path.name} has no column {', '.join(sorted(missing))}")
            return [{name: clean(row[name] or "") for name in COLUMNS} for row in reader]
    except csv.Error as failure:
        raise Unreadable(f"{path.name} is no table ({failure})") from failure


def _read_curves(path: Path, names: set[str]) -> dict[str, dict[str, np.ndarray]]:
    """The curves of these runs; `pack` writes at most 200 rows of each, so more are none of its own."""
    rows: dict[str, list[list[float]]] = {}
    try:
        with opened(path, LARGEST) as packed, gzip.GzipFile(fileobj=packed) as stream:
            text = lines(stream, path.name)  # type: ignore[arg-type]
            for count, line in enumerate(csv.DictReader(text), 1):
                if count > ROWS * len(names):
                    raise Unreadable(f"{path.name} holds more than {ROWS} rows a run")
                numbers = [_read_number(line.get(name, "") if name in LATER else line[name]) for name in CURVE]
                if math.isfinite(numbers[CURVE.index("steps")]):
                    rows.setdefault(clean(line["run"]), []).append(numbers)
    except (csv.Error, EOFError, zlib.error, KeyError, ValueError, TypeError) as failure:
        raise Unreadable(f"{path.name} holds no curves that can be read ({failure})") from failure
    return {name: dict(zip(CURVE, np.array(numbers).T)) for name, numbers in rows.items()}


def _read_number(text: str) -> float:
    value = float(text) if text else math.nan
    return value if abs(value) <= LARGEST_NUMBER else math.nan


def _curves(runs: list[Run]) -> bytes:
    """One line for each row of each thinned curve; what a run has not, or not yet, is empty."""
    lines = (
        [run.name, *(curve[name][index] if name in curve else math.nan for name in CURVE)]
        for run in runs
        for curve in [thin(run.curve)]
        for index in range(len(curve.get("steps", ())))
    )
    return _table(("run", *CURVE), lines)


def _table(header: tuple[str, ...], lines: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for line in lines:
        writer.writerow(["" if value is None else _number(value) for value in line])
    return text.getvalue().encode()


def _number(value: Any) -> Any:
    """A float in the fewest digits that give it back; nothing for what is no number."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1) + "\n").encode()


def _write(path: Path, data: bytes) -> None:
    with atomic(path) as stream:
        stream.write(data)
