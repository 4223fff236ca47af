"""What lies in a run folder, by name, and how it is read. No jax: reports start at once."""

import csv
import json
from pathlib import Path
from typing import Any

from onlooker.errors import UserError

FORMAT = 1  # of the run folder; config.json names it

CONFIG = "config.json"  # what the run is: it is there from the first moment on
METRICS = "metrics.csv"  # a line an iteration, the same whenever the run is repeated
TIMING = "timing.csv"  # how long it took
RESULT = "result.json"  # what it came to: a run that has it is finished
DEMO = "demo.npz"  # what the method may see of the demonstrations
POLICY = "policy.npz"
LOG = "log.txt"  # what a grid's cell said
ANALYSIS = "analysis.json"  # what `onlooker analyze` measured
CHECKPOINTS = "checkpoints"
SNAPSHOTS = "snapshots"
LOCK = ".lock"
GRID = "grid.json"  # in a folder of many runs: which cells a grid was asked for

RUN_FILES = {CONFIG, METRICS, RESULT}  # a folder with any of these is a run's
TIMING_COLUMNS = ("iteration", "steps", "seconds")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of a run folder."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as failure:
        raise UserError(f"{path.parent} is no run folder: can't read {path.name} ({failure})") from failure
    if not isinstance(data, dict):
        raise UserError(f"{path.parent} is no run folder: {path.name} holds no JSON object")
    return data


def read_metrics(folder: Path) -> dict[str, list[float]]:
    """Columns of a run's metrics."""
    with (Path(folder) / METRICS).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def last_timing(folder: Path) -> dict[str, float]:
    """The last line of a run's timing by its columns' names; empty where there is none that can be read."""
    try:
        line = (Path(folder) / TIMING).read_text().splitlines()[1:][-1]
        return dict(zip(TIMING_COLUMNS, map(float, line.split(",")), strict=True))
    except (OSError, IndexError, ValueError):
        return {}
