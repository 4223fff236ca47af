"""Many runs in one small folder: runs.csv, curves.csv.gz, configs.json, analysis.json. A report rebuilds from them."""

import csv
import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.errors import UserError
from onlooker.report.entry import COLUMNS, CURVE, MORE_NUMBERS, NUMBERS, ROWS, STATES, Run, thin
from onlooker.report.reading import Unreadable, check_config, read_object
from onlooker.report.variants import named
from onlooker.report.worlds import natural
from onlooker.storage import atomic

MARK = "packed.json"
FORMAT = 1


def is_packed(folder: Path) -> bool:
    """Whether the folder was packed by a report."""
    return (folder / MARK).is_file()


def pack(runs: list[Run], folder: Path) -> int:
    """Write the runs as a packed folder, beside those that are packed there already; how many it holds now.

    A folder that holds something else is refused.
    """
    if folder.exists() and not is_packed(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is there already and was not packed by a report; choose another --pack")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise UserError(f"can't make the folder {folder}: {failure.strerror}") from failure
    if is_packed(folder):
        runs = named(_joined(unpack(folder, "", ROWS), runs))
    configs = {run.name: run.config for run in runs if run.config}
    analyses = {run.name: run.analysis for run in runs if run.analysis}
    _write(folder / MARK, _json({"packed runs": len(runs), "format": FORMAT}))
    _write(folder / "configs.json", _json(configs))
    _write(folder / "analysis.json", _json(analyses))
    _write(folder / "curves.csv.gz", gzip.compress(_curves(runs), mtime=0))
    _write(folder / "runs.csv", _table(COLUMNS, ([run.row()[name] for name in COLUMNS] for run in runs)))
    return len(runs)


def _joined(before: list[Run], now: list[Run]) -> list[Run]:
    """Runs of both, by name. Of two with one name the later one counts, unless only the earlier one is finished."""
    runs = {run.name: run for run in before}
    runs |= {run.name: run for run in now if run.state == "finished" or runs.get(run.name, run).state != "finished"}
    return [runs[name] for name in sorted(runs, key=natural)]


def unpack(folder: Path, above: str, rows: int) -> list[Run]:
    """The runs of a packed folder; `above` goes before their names."""
    try:
        mark = read_object(folder / MARK)
        if mark.get("format") != FORMAT:
            raise Unreadable(f"its layout is {mark.get('format')}, and this version reads {FORMAT}")
        configs, analyses = read_object(folder / "configs.json"), read_object(folder / "analysis.json")
        for config in configs.values():
            check_config(config)
        curves = _read_curves(folder / "curves.csv.gz")
        with (folder / "runs.csv").open(newline="") as stream:
            table = list(csv.DictReader(stream))
        return [_run(row, above, configs, analyses, curves, rows) for row in table]
    except (Unreadable, OSError, EOFError, ValueError, KeyError, TypeError) as failure:
        raise UserError(f"{folder} is no packed folder that can be read: {failure}") from failure


def _run(row: dict[str, str], above: str, configs: dict, analyses: dict, curves: dict, rows: int) -> Run:
    if row["state"] not in STATES:
        raise Unreadable(f"runs.csv calls {row['run']} {row['state']!r}")
    numbers = {name: float(row[name]) if row[name] else math.nan for name in (*NUMBERS, *MORE_NUMBERS)}
    return Run(
        above + row["run"],
        row["state"],
        row["note"],
        row["method"],
        row["variant"],
        row["env"],
        row["dynamics"],
        seed=int(row["seed"]) if row["seed"] else None,
        steps=int(row["steps"]),
        version=row["version"],
        numbers=numbers if row["run"] in configs else {},
        config=configs.get(row["run"], {}),
        curve=thin(curves.get(row["run"], {}), rows),
        analysis=analyses.get(row["run"], {}),
    )


def _curves(runs: list[Run]) -> bytes:
    """One line for each row of each thinned curve; what a run has not, or not yet, is empty."""
    lines = (
        [run.name, *(curve[name][index] if name in curve else math.nan for name in CURVE)]
        for run in runs
        for curve in [thin(run.curve)]
        for index in range(len(curve.get("steps", ())))
    )
    return _table(("run", *CURVE), lines)


def _read_curves(path: Path) -> dict[str, dict[str, np.ndarray]]:
    with gzip.open(path, "rt", newline="") as stream:
        lines = list(csv.DictReader(stream))
    rows: dict[str, list[list[float]]] = {}
    for line in lines:
        rows.setdefault(line["run"], []).append([float(line[name]) if line[name] else math.nan for name in CURVE])
    return {run: dict(zip(CURVE, np.array(numbers).T)) for run, numbers in rows.items()}


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
