"""The numbers that the paper states (Gangwani and Peng, ICLR 2020): mean return over 8 seeds after 5M steps.

Its other results are curves only, and are not read off them. They are for Gym v2 with the MuJoCo of its day.
"""

import numpy as np

from onlooker.report.statistics import iqm_interval

STEPS = 5_000_000
ABOUT = (
    "The paper's numbers are means over 8 seeds after 5 million steps, for Gym v2 with the MuJoCo of its day. "
    "Ours are for Gymnasium v5: another simulator, other robots' files, other experts."
)

EXPERT = {"Walker2d": 6200.0, "Hopper": 3700.0, "Ant": 4800.0, "HalfCheetah": 7500.0}

RETURNS: dict[str, dict[str, dict[str, float]]] = {
    "none": {
        "gail-s": {"Walker2d": 3711, "Hopper": 2130, "Ant": 3217, "HalfCheetah": 5974},
        "gaifo": {"Walker2d": 3122, "Hopper": 2121, "Ant": 3452, "HalfCheetah": 5082},
        "i2l": {"Walker2d": 4107, "Hopper": 2751, "Ant": 3320, "HalfCheetah": 5240},
    },
    "low-gravity": {
        "gaifo": {"Walker2d": 2995, "Hopper": 1683, "Ant": 594, "HalfCheetah": 1518},
        "i2l": {"Walker2d": 3547, "Hopper": 2566, "Ant": 1617, "HalfCheetah": 4155},
    },
    "high-density": {
        "gail-s": {"HalfCheetah": 923},
        "gaifo": {"Walker2d": 378, "Hopper": 440, "Ant": 3667, "HalfCheetah": -234},
        "i2l": {"Walker2d": 1988, "Hopper": 1999, "Ant": 3319, "HalfCheetah": 3975},
    },
    "high-friction": {
        "gail-s": {"Hopper": 810},
        "gaifo": {"Walker2d": 3858, "Hopper": 876, "Ant": 380, "HalfCheetah": 2883},
        "i2l": {"Walker2d": 3825, "Hopper": 2084, "Ant": 1145, "HalfCheetah": 5554},
    },
}
LEVEL = 0.05  # within this share of the paper's number a single seed of ours is level with it


def paper_return(method: str, robot: str, dynamics: str) -> float | None:
    """What the paper states, if it does."""
    return RETURNS.get(dynamics, {}).get(method, {}).get(robot)


def verdict(ours: np.ndarray, theirs: float) -> str:
    """above, level or below: where the 95% interval of our seeds lies, or a single seed within 5%."""
    low, high = iqm_interval([ours])
    if len(ours) == 1:
        low, high = ours[0] - LEVEL * abs(theirs), ours[0] + LEVEL * abs(theirs)
    if low <= theirs <= high:
        return "level"
    return "above" if low > theirs else "below"
