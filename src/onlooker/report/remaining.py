"""How long runs will still take: from the steps they have to do and the speed they had of late."""

import heapq
import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

RECENT = 60.0  # seconds of a run that its speed is taken from


def whole_steps(config: dict[str, Any]) -> int:
    """Steps that a run will have made in the end: it ends on a whole iteration."""
    budget = config["budget"]
    size = max(1, int(budget.get("steps_per_iteration", 1)))
    return math.ceil(int(budget["steps"]) / size) * size


def recent_rate(steps: Sequence[float] | np.ndarray, seconds: Sequence[float] | np.ndarray) -> float:
    """Steps a second over the last minute, without the first iteration, which compiles; nan before the second."""
    if len(steps) < 2:
        return math.nan
    first = next((at for at in range(len(seconds) - 2, 0, -1) if seconds[-1] - seconds[at] >= RECENT), 0)
    made, took = float(steps[-1] - steps[first]), float(seconds[-1] - seconds[first])
    return made / took if made > 0 and took > 0 else math.nan


def expected_rate(kind: tuple[str, str], known: dict[tuple[str, str], list[float]]) -> float:
    """How fast a run of a (method, robot) will go: as others of its kind, else as others of its robot, else as any."""
    robots = [rate for (_, env), rates in known.items() if env == kind[1] for rate in rates]
    everyone = [rate for rates in known.values() for rate in rates]
    return next((fmean(rates) for rates in (known.get(kind), robots, everyone) if rates), math.nan)


def until_all_done(running: Sequence[float], waiting: Sequence[float]) -> float:
    """Seconds until the last of all runs ends: whenever one ends, the next that waits takes its place.

    running: seconds that those which go now still take. waiting: seconds of those that follow, in their order. Where
    nothing runs, or the time of one is not known, nobody can tell: nan.
    """
    ends = list(running)
    if not ends or not all(map(math.isfinite, (*running, *waiting))):
        return math.nan
    heapq.heapify(ends)
    for seconds in waiting:
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)
