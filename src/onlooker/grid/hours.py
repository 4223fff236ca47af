"""About how long runs will take: from what runs in the same folder took, else from what was measured before."""

import math
import os
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from onlooker.config import Config
from onlooker.errors import UserError
from onlooker.grid.plan import Cell
from onlooker.runs import layout


class Pace(NamedTuple):
    """How a run on one core goes."""

    start: float  # seconds that it takes whatever its steps
    rate: float  # steps/s


# On one core of a two-core cloud machine, both cores busy. Steps/s of an I2L run; other environments are Gymnasium's.
RATES = {"HalfCheetah-v5": 11_000.0, "Hopper-v5": 7_500.0, "Walker2d-v5": 6_000.0, "Ant-v5": 3_500.0}
UNKNOWN = 3_000.0
AROUND = 8.0  # seconds of a run that its timing does not hold: imports, building, the last evaluation
COMPILING = 10.0


class Paces:
    """How fast runs go, by method and robot."""

    def __init__(self, out: Path) -> None:
        took: dict[tuple[str, str], list[Pace]] = {}
        for path in sorted(out.glob(f"*/{layout.TIMING}")):
            pace = _measured(path.parent)
            if pace is None:
                continue
            try:
                config = layout.read_json(path.parent / layout.CONFIG)
                took.setdefault((str(config["method"]), str(config["world"]["env"])), []).append(pace)
            except (UserError, KeyError, TypeError):
                continue  # no run of ours
        self._known = {key: Pace(*map(fmean, zip(*paces))) for key, paces in took.items()}
        count = sum(map(len, took.values()))
        self.source = f"by the speed of {count} runs in {out}" if count else "by earlier measurements"

    def of(self, config: Config) -> Pace:
        """How a run is expected to go."""
        env = config.world.env
        return self._known.get((config.method, env), Pace(AROUND + COMPILING, RATES.get(env, UNKNOWN)))

    def seconds_left(self, cell: Cell, out: Path) -> float:
        """How long a cell will still take."""
        left, pace = steps_left(cell, out), self.of(cell.config)
        return pace.start + left / pace.rate if left else 0.0


def _measured(folder: Path) -> Pace | None:
    """How a run went. What its first iteration took longer than the others went into compiling."""
    first, last = layout.first_timing(folder), layout.last_timing(folder)
    if not first or not last:
        return None
    steps, seconds = last["steps"] - first["steps"], last["seconds"] - first["seconds"]
    if not (0 < steps < math.inf and 0 < seconds < math.inf):
        return None  # it has not come far enough
    rate = steps / seconds
    compiling = first["seconds"] - first["steps"] / rate
    return Pace(AROUND + max(compiling, 0.0), rate) if math.isfinite(compiling) else None


def steps_left(cell: Cell, out: Path) -> int:
    """How many of a cell's steps are still to be made."""
    path = out / cell.name
    if (path / layout.RESULT).exists():
        return 0
    done = layout.last_timing(path).get("steps", 0.0)
    return max(1, round(cell.config.budget.steps - done)) if math.isfinite(done) else cell.config.budget.steps


def spoken(seconds: float) -> str:
    """A time in the unit that suits it: 40 s, 6 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:,.1f} h"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
