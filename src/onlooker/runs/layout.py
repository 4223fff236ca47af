"""What lies in a run folder, by name, and how it is read. No jax: reports start at once."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onlooker.errors import UserError
from onlooker.options.history import NEUTRAL, RENAMED
from onlooker.storage import parse_json

FORMAT = 1  # of the run folder; config.json names it

CONFIG = "config.json"  # what the run is: it is there from the first moment on
METRICS = "metrics.csv"  # a line an iteration, the same whenever the run is repeated
TIMING = "timing.csv"  # how long it took
RESULT = "result.json"  # what it came to: a run that has it is finished
DEMO = "demo.npz"  # what the method may see of the demonstrations
EXPERT = "expert.npz"  # the policy that `transfer` is shown
ROBOT = "robot"  # a robot's own file, and all that it is made of
POLICY = "policy.npz"  # what was learned
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
        data = parse_json(path.read_bytes())
    except (OSError, ValueError) as failure:
        raise UserError(f"{path.parent} is no run folder: can't read {path.name} ({failure})") from failure
    if not isinstance(data, dict):
        raise UserError(f"{path.parent} is no run folder: {path.name} holds no JSON object")
    return data


def read_config(folder: Path) -> dict[str, Any]:
    """What a run is, by the names that options have today."""
    data = read_json(Path(folder) / CONFIG)
    if data.get("format") != FORMAT:
        raise UserError(f"{folder} is a run folder of format {data.get('format')!r}, and this version reads {FORMAT}")
    return renamed(data)


def read_metrics(folder: Path) -> dict[str, list[float]]:
    """Columns of a run's metrics."""
    with (Path(folder) / METRICS).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def first_timing(folder: Path) -> dict[str, float]:
    """The first line of a run's timing by its columns' names; empty where there is none that can be read."""
    return _timing(folder, 0)


def last_timing(folder: Path) -> dict[str, float]:
    """The last line of it."""
    return _timing(folder, -1)


def _timing(folder: Path, index: int) -> dict[str, float]:
    try:
        line = (Path(folder) / TIMING).read_text().splitlines()[1:][index]
        return dict(zip(TIMING_COLUMNS, map(float, line.split(",")), strict=True))
    except (OSError, IndexError, ValueError):
        return {}


def renamed(config: dict[str, Any]) -> dict[str, Any]:
    """A config by the names of today. Where an option has both names, the one of today counts."""
    for path, today in RENAMED.items():
        *sections, old = path.split(".")
        new = today.rpartition(".")[2]

        def rename(section: dict[str, Any], old: str = old, new: str = new) -> dict[str, Any]:
            found = {new if name == old else name: value for name, value in section.items()}
            return found | {new: section[new]} if new in section else found

        config = _within(config, sections, rename)
    return config


def completed(config: dict[str, Any]) -> dict[str, Any]:
    """A config with the options that came later, in the sections that it has: to compare it with newer ones."""
    for path, neutral in NEUTRAL.items():
        *sections, name = path.split(".")

        def complete(section: dict[str, Any], name: str = name, neutral: Any = neutral) -> dict[str, Any]:
            return {**section, name: section.get(name, neutral)}

        config = _within(config, sections, complete)
    return config


def _within(data: Any, sections: list[str], change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The data with one section changed, if it is there; what was given stays as it is."""
    if not isinstance(data, dict):
        return data
    if not sections:
        return change(data)
    first, *rest = sections
    return data | {first: _within(data[first], rest, change)} if first in data else data
