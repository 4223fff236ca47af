"""Reading one run folder, whole or not: what can't be used is said, never dropped."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlooker.report.entry import CURVE, Run, thin
from onlooker.report.intake import (
    LARGEST_TABLE,
    Unreadable,
    clean,
    finite,
    lines,
    opened,
    read_columns,
    read_end,
    read_object,
)
from onlooker.report.world_names import dynamics_name, env_name
from onlooker.runs.layout import ANALYSIS, CONFIG, FORMAT, LOG, METRICS, RESULT, TIMING, TIMING_COLUMNS, renamed

FAILURE = re.compile(r"(onlooker: |([\w.]*(Error|Exception)|Killed|Segmentation fault)\b)")
BOUND = ("iteration", "expert_f", "buffer_f", "w1")
MOST_STEPS = 1e15


class Table(NamedTuple):
    """What could be read of a CSV of numbers."""

    columns: dict[str, np.ndarray]
    torn: int
    """Lines that are not whole."""
    begun: bool
    """Whether there is anything in it."""


Reader = Callable[[Path, tuple[str, ...]], Table]


def read_table(path: Path, wanted: tuple[str, ...]) -> Table:
    """The wanted columns of a table."""
    with opened(path, LARGEST_TABLE) as stream:
        columns, torn = read_columns(lines(stream, path.name), wanted)
        return Table(columns, torn, os.fstat(stream.fileno()).st_size > 0)


def read_run(folder: Path, name: str, rows: int, read: Reader = read_table) -> Run:
    """The run in a folder, its curve in at most `rows` rows. `read` reads its tables."""
    try:
        config = checked_config(read_object(folder / CONFIG))
    except Unreadable as failure:
        return Run(name, "unreadable", clean(str(failure)), folder=folder)
    notes: list[str] = []
    metrics = _columns(read, folder / METRICS, CURVE, ("steps",), notes)
    timing = _columns(read, folder / TIMING, TIMING_COLUMNS, TIMING_COLUMNS, notes)
    made = int(metrics["steps"][-1]) if len(metrics.get("steps", ())) else 0
    state, result = "finished", {}
    if os.path.lexists(folder / RESULT):
        try:
            result = read_object(folder / RESULT)
        except Unreadable as failure:
            state = "unreadable"
            notes.append(str(failure))
        else:
            notes += _silent(result)
    else:
        error = _last_error(folder / LOG)
        state = "failed" if error else "unfinished"
        notes.append(f"{made:,} of {int(config['budget']['steps']):,} steps" + (f"; {error}" if error else ""))
    analysis: dict[str, Any] = {}
    try:
        analysis = read_analysis(folder / ANALYSIS)
    except Unreadable as failure:
        notes.append(str(failure))
    return Run(
        name,
        state,
        clean("; ".join(notes)),
        **described(config),
        steps=int(_number(result, "steps", made)),
        numbers=_numbers(result, timing),
        curve=thin(metrics, rows),
        analysis=analysis,
        folder=folder,
    )


def described(config: dict[str, Any]) -> dict[str, Any]:
    """What a run's config says of it, by the names that `Run` has."""
    world = config["world"]
    return {
        "method": config["method"],
        "env": clean(env_name(world)),
        "dynamics": clean(dynamics_name(world)),
        "seed": config["budget"]["seed"],
        "version": clean(str(config.get("version", ""))),
        "config": config,
    }


def checked_config(config: Any) -> dict[str, Any]:
    """A config by the names of today; one that is not laid out as this version knows it is refused."""
    if not isinstance(config, dict):
        raise Unreadable("its config is no JSON object")
    config = renamed(config)
    made_by = f"onlooker {config['version']}" if "version" in config else "an unknown version"
    if config.get("format") != FORMAT:
        raise Unreadable(f"made by {made_by}: its layout is {config.get('format')}, and this version reads {FORMAT}")
    world, budget = config.get("world"), config.get("budget")
    if not isinstance(world, dict) or not isinstance(world.get("env"), str):
        raise Unreadable(f"made by {made_by}: {CONFIG} has no world.env that can be read")
    if not isinstance(budget, dict) or type(budget.get("seed")) is not int:
        raise Unreadable(f"made by {made_by}: {CONFIG} has no budget.seed that can be read")
    for name in ("steps", "steps_per_iteration"):
        value = budget.get(name, 1 if name == "steps_per_iteration" else None)
        if not finite(value) or not 0 <= value <= MOST_STEPS:
            raise Unreadable(f"made by {made_by}: its budget.{name} is {clean(str(value))}, no number of steps")
    try:
        env_name(world), dynamics_name(world)
    except (TypeError, ValueError, AttributeError) as failure:
        raise Unreadable(f"made by {made_by}: its world can't be read ({failure})") from failure
    if not isinstance(config.get("method"), str) or not isinstance(config.get("options"), dict):
        raise Unreadable(f"made by {made_by}: {CONFIG} has no method and options that can be read")
    return config


def read_analysis(path: Path) -> dict[str, Any]:
    """What was measured of a run after the fact; empty where nothing was."""
    return checked_analysis(read_object(path)) if os.path.lexists(path) else {}


def checked_analysis(data: Any) -> dict[str, Any]:
    """An analysis whose lower bound can be drawn, if it has one."""
    if not isinstance(data, dict):
        raise Unreadable(f"{ANALYSIS} holds no JSON object")
    bound = data.get("lower_bound")
    if bound is not None:
        entries: list[Any] = [bound.get(name) for name in BOUND] if isinstance(bound, dict) else [None]
        entries += [bound["exact_w1"]] if isinstance(bound, dict) and bound.get("exact_w1") is not None else []
        if not all(_is_column(entry) and len(entry) == len(entries[0]) for entry in entries):
            raise Unreadable(f"{ANALYSIS}: lower_bound needs {', '.join(BOUND)}, numbers in lists of one length")
        if not isinstance(bound.get("f_from"), int | None):
            raise Unreadable(f"{ANALYSIS}: lower_bound.f_from is no iteration")
    return data


def _is_column(entry: Any) -> bool:
    return isinstance(entry, list) and all(number is None or isinstance(number, int | float) for number in entry)


def _columns(
    read: Reader, path: Path, wanted: tuple[str, ...], needed: tuple[str, ...], notes: list[str]
) -> dict[str, np.ndarray]:
    """Columns of a table of the run; none if a needed one is not there, and `notes` says what is wrong."""
    if not os.path.lexists(path):
        return {}
    try:
        columns, torn, begun = read(path, wanted)
    except Unreadable as failure:
        notes.append(str(failure))
        return {}
    if torn:
        notes.append(f"{path.name}: {torn:,} line{'s' * (torn > 1)} not whole, left out")
    lacking = [name for name in needed if name not in columns]
    if lacking and begun and (columns or not torn):
        notes.append(f"{path.name} has no column {', '.join(lacking)}")
    return {} if lacking else columns


def _silent(result: dict[str, Any]) -> list[str]:
    """What a finished run does not tell, though it could: a robot may have no reward."""
    names = ("return", "eval_return_mean")
    if all(name in result and result[name] is None for name in (*names, "random_return")):
        return []
    missing = [name for name in names if not math.isfinite(_number(result, name))]
    return [f"{RESULT} has no {' and no '.join(missing)}"] if missing else []


def _last_error(path: Path) -> str:
    """The last line that a run said, if it is an error."""
    try:
        said = [line for line in read_end(path, 8000).splitlines() if line.strip()]
    except Unreadable:
        return ""
    last = " ".join(said[-1].split()) if said else ""
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
    return float(value) if finite(value) else otherwise
