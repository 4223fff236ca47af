"""One run as a report sees it, and its curve in few rows."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

USABLE = ("finished", "unfinished", "failed")  # a table or figure may show these
STATES = (*USABLE, "missing", "unreadable", "duplicate")
NUMBERS = ("return", "eval_return", "demo_return", "random_return", "zero_return", "hours")
MORE_NUMBERS = ("eval_std", "steps_per_second")
CURVE = ("steps", "return", "wasserstein", "episode_length", "elite_score_mean", "entropy", "forward_speed")
LATER = ("forward_speed",)  # of these: not in every packed folder
COLUMNS = (
    *("method", "variant", "env", "dynamics", "seed", "steps", *NUMBERS, "version"),
    *(*MORE_NUMBERS, "state", "note", "run"),
)
ROWS = 200  # of a thinned curve
DIGITS = 6  # that its numbers keep


@dataclass(frozen=True, eq=False)
class Run:
    """A run: what it was asked for, and what it came to."""

    name: str
    """Its folder, as seen from the results folder."""
    state: str
    """finished, unfinished, failed, missing (a grid's cell that was never begun), unreadable or duplicate."""
    note: str = ""
    """Why it is not finished or not used, or what of it could not be read."""
    method: str = ""
    variant: str = ""
    """The options in which it differs from other runs of the method; empty for the usual ones."""
    env: str = ""
    dynamics: str = ""
    seed: int | None = None
    steps: int = 0
    """Steps made."""
    version: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    """return, eval_return, demo_return, random_return, zero_return, hours, eval_std, steps_per_second; or nan."""
    config: dict[str, Any] = field(default_factory=dict)
    curve: dict[str, np.ndarray] = field(default_factory=dict)
    """Columns of metrics.csv, thinned."""
    analysis: dict[str, Any] = field(default_factory=dict)
    """What analysis.json holds."""
    folder: Path | None = None
    """Where it lies; none for a packed run."""

    def __getitem__(self, name: str) -> float:
        return self.numbers.get(name, math.nan)

    @property
    def asked_steps(self) -> int:
        """Steps that it was asked to make."""
        return int(self.config["budget"]["steps"])

    def row(self) -> dict[str, Any]:
        """One flat row, as in `runs.csv`."""
        named = {"run": self.name} | {name: getattr(self, name) for name in COLUMNS if hasattr(self, name)}
        numbers = {name: self[name] for name in (*NUMBERS, *MORE_NUMBERS)}
        return {name: (named | numbers)[name] for name in COLUMNS}


def thin(columns: dict[str, np.ndarray], rows: int = ROWS) -> dict[str, np.ndarray]:
    """The columns that a report draws, in at most `rows` evenly spaced rows of few digits; none without a number."""
    count = len(columns.get("steps", ()))
    if count == 0:
        return {}
    chosen = evenly(count, rows)
    kept = {name: shortened(columns[name][chosen]) for name in CURVE if name in columns}
    return {name: column for name, column in kept.items() if np.isfinite(column).any()}


def evenly(count: int, rows: int) -> np.ndarray:
    """At most `rows` of the places 0 to `count` - 1, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, rows)).round().astype(int))


def shortened(values: np.ndarray) -> np.ndarray:
    """The values with the digits that `curves.csv.gz` keeps."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])
