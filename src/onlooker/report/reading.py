"""Reading a run folder, whole or not: what can't be used is said, never dropped."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.report.entry import Run, thin
from onlooker.report.worlds import dynamics_name, env_name

FORMAT = 1  # of the run folders that are understood here
FAILURE = re.compile(r"(onlooker: |([\w.]*(Error|Exception)|Killed|Segmentation fault)\b)")
NEEDED: tuple[tuple[str, str, Any], ...] = (
    ("world", "env", str),
    ("budget", "seed", int),
    ("budget", "steps", int | float),
)
BOUND = ("iteration", "expert_f", "buffer_f", "w1")


class Unreadable(Exception):
    """A file can't be used, and why."""


def read_run(folder: Path, name: str, rows: int) -> Run:
    """The run in a folder."""
    try:
        config = read_object(folder / "config.json")
        check_config(config)
    except Unreadable as failure:
        return Run(name, "unreadable", str(failure), folder=folder)
    notes: list[str] = []
    metrics = _columns(folder / "metrics.csv", notes)
    timing = _columns(folder / "timing.csv", notes)
    made = int(metrics["steps"][-1]) if len(metrics.get("steps", ())) else 0
    state, result = "finished", {}
    if (folder / "result.json").exists():
        try:
            result = read_object(folder / "result.json")
        except Unreadable as failure:
            state = "unreadable"
            notes.append(str(failure))
        else:
            notes += _silent(result)
    else:
        error = _last_error(folder / "log.txt")
        state = "failed" if error else "unfinished"
        notes.append(f"{made:,} of {int(config['budget']['steps']):,} steps" + (f"; {error}" if error else ""))
    analysis: dict[str, Any] = {}
    try:
        analysis = read_analysis(folder / "analysis.json")
    except Unreadable as failure:
        notes.append(str(failure))
    return Run(
        name,
        state,
        "; ".join(notes),
        method=config["method"],
        env=env_name(config["world"]),
        dynamics=dynamics_name(config["world"]),
        seed=config["budget"]["seed"],
        steps=int(_number(result, "steps", made)),
        version=str(config.get("version", "")),
        numbers=_numbers(result, timing),
        config=config,
        curve=thin(metrics, rows),
        analysis=analysis,
        folder=folder,
    )


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise Unreadable(f"{path.name} is missing") from None
    except OSError as failure:
        raise Unreadable(f"can't read {path.name}: {failure.strerror}") from failure
    except ValueError as failure:
        raise Unreadable(f"{path.name} is no JSON ({failure})") from failure
    if not isinstance(data, dict):
        raise Unreadable(f"{path.name} holds no JSON object")
    return data


def check_config(config: dict[str, Any]) -> None:
    """Refuse a config that is not laid out as this version knows it."""
    made_by = f"onlooker {config['version']}" if "version" in config else "an unknown version"
    if config.get("format") != FORMAT:
        raise Unreadable(f"made by {made_by}: its layout is {config.get('format')}, and this version reads {FORMAT}")
    for part, field, kind in NEEDED:
        if not isinstance(config.get(part), dict) or not isinstance(config[part].get(field), kind):
            raise Unreadable(f"made by {made_by}: config.json has no {part}.{field} that can be read")
    if not math.isfinite(config["budget"]["steps"]):
        raise Unreadable(f"made by {made_by}: its budget of steps is no number")
    try:
        env_name(config["world"]), dynamics_name(config["world"])
    except (TypeError, ValueError, AttributeError) as failure:
        raise Unreadable(f"made by {made_by}: its world can't be read ({failure})") from failure
    if not isinstance(config.get("method"), str) or not isinstance(config.get("options"), dict):
        raise Unreadable(f"made by {made_by}: config.json has no method and options that can be read")


def read_columns(text: str) -> tuple[dict[str, np.ndarray], int]:
    """Columns of a CSV of numbers, and how many lines are not whole: a crash may leave half a line."""
    lines = text.split("\n")
    whole, torn = lines[:-1], int(bool(lines[-1]))  # behind the last line break is nothing, or half a line
    if not whole:
        return {}, torn
    header, *rows = csv.reader(io.StringIO("\n".join(whole).replace("\0", "?")))
    numbers = []
    for row in rows:
        try:
            if len(row) != len(header):
                raise ValueError
            line = [float(cell) for cell in row]
            if "steps" in header and not math.isfinite(line[header.index("steps")]):
                raise ValueError
            numbers.append(line)
        except ValueError:
            torn += 1
    table = np.array(numbers).reshape(len(numbers), len(header))
    return {name: table[:, index] for index, name in enumerate(header)}, torn


def read_analysis(path: Path) -> dict[str, Any]:
    """What was measured of a run after the fact; empty where nothing was."""
    if not path.exists():
        return {}
    data = read_object(path)
    bound = data.get("lower_bound")
    if bound is not None:
        lists: list[Any] = [bound.get(name) for name in BOUND] if isinstance(bound, dict) else [None]
        lists += [bound["exact_w1"]] if isinstance(bound, dict) and bound.get("exact_w1") is not None else []
        if not all(_is_column(entry) and len(entry) == len(lists[0]) for entry in lists):
            raise Unreadable(f"{path.name}: lower_bound needs {', '.join(BOUND)}, numbers in lists of one length")
    return data


def _is_column(entry: Any) -> bool:
    return isinstance(entry, list) and all(number is None or isinstance(number, int | float) for number in entry)


def _columns(path: Path, notes: list[str]) -> dict[str, np.ndarray]:
    try:
        columns, torn = read_columns(path.read_text(errors="replace"))
    except FileNotFoundError:
        return {}
    except OSError as failure:
        notes.append(f"can't read {path.name}: {failure.strerror}")
        return {}
    if torn:
        notes.append(f"{path.name}: {torn} line{'s' * (torn > 1)} not whole, left out")
    return columns


def _silent(result: dict[str, Any]) -> list[str]:
    """What a finished run does not tell."""
    names = ("return", "eval_return_mean")
    missing = [name for name in names if not math.isfinite(_number(result, name))]
    return [f"result.json has no {' and no '.join(missing)}"] if missing else []


def _last_error(path: Path) -> str:
    """The last line that a run said, if it is an error."""
    try:
        lines = [line for line in path.read_bytes()[-8000:].decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    last = " ".join(lines[-1].split()) if lines else ""
    return last[:300] if FAILURE.match(last) else ""


def _numbers(result: dict[str, Any], timing: dict[str, np.ndarray]) -> dict[str, float]:
    steps, seconds = timing.get("steps", np.zeros(0)), timing.get("seconds", np.zeros(0))
    took = float(seconds[-1]) / 3600 if len(seconds) else math.nan
    # The first iteration also compiles: it is not counted.
    fast = (steps[-1] - steps[0]) / (seconds[-1] - seconds[0]) if len(steps) > 1 and seconds[-1] > seconds[0] else None
    hours = _number(result, "hours", took)
    if fast is None:
        fast = _number(result, "steps") / (hours * 3600) if hours > 0 else math.nan
    names = ("return", "demo_return", "random_return", "zero_return")
    numbers = {name: _number(result, name) for name in names}
    numbers |= {"eval_return": _number(result, "eval_return_mean"), "eval_std": _number(result, "eval_return_std")}
    return numbers | {"hours": hours, "steps_per_second": float(fast)}


def _number(data: dict[str, Any], name: str, otherwise: float = math.nan) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else otherwise
