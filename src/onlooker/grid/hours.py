"""About how long runs will take: from what runs in the same folder took, else from what was measured before."""

import os
from pathlib import Path

from onlooker.config import Config
from onlooker.errors import UserError
from onlooker.grid.plan import Cell
from onlooker.runs.layout import read_json

# Steps/s of an I2L run on one core of a two-core cloud machine, both cores busy; other environments are Gymnasium's.
MEASURED = {"HalfCheetah-v5": 11_000.0, "Hopper-v5": 7_500.0, "Walker2d-v5": 6_000.0, "Ant-v5": 3_500.0}
UNKNOWN = 3_000.0


class Rates:
    """Steps/s of one run on one core, by method and robot."""

    def __init__(self, out: Path) -> None:
        took: dict[tuple[str, str], list[float]] = {}
        for path in sorted(out.glob("*/timing.csv")):
            try:
                config = read_json(path.parent / "config.json")
                _, steps, seconds = path.read_text().splitlines()[-1].split(",")
                took.setdefault((config["method"], config["world"]["env"]), []).append(float(steps) / float(seconds))
            except (UserError, OSError, KeyError, IndexError, ValueError, ZeroDivisionError):
                continue  # nothing learned yet
        self._known = {key: sum(rates) / len(rates) for key, rates in took.items()}
        self.source = (
            f"by the speed of {sum(map(len, took.values()))} runs in {out}" if took else "by earlier measurements"
        )

    def of(self, config: Config) -> float:
        """Steps/s to be expected."""
        env = config.world.env
        return self._known.get((config.method, env), MEASURED.get(env, UNKNOWN))


def steps_left(cell: Cell, out: Path) -> int:
    """How many of a cell's steps are still to be made."""
    path = out / cell.name
    if (path / "result.json").exists():
        return 0
    try:
        steps = float((path / "timing.csv").read_text().splitlines()[-1].split(",")[1])
    except (OSError, IndexError, ValueError):
        steps = 0.0
    return max(1, round(cell.config.budget.steps - steps))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
