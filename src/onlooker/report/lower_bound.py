"""The lower bound of f on the expert's pairs, as `analysis.json` has it: E_expert[f] >= E_buffer[f] - L W1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlooker.report.entry import Run
from onlooker.report.intake import LARGEST_NUMBER
from onlooker.report.tables import Column, Table

CONSTANTS = (0.5, 1.0, 1.5)


@dataclass(frozen=True, eq=False)
class Bound:
    """What was measured at the snapshots of one run."""

    run: Run
    steps: np.ndarray
    expert_f: np.ndarray
    buffer_f: np.ndarray
    w1: np.ndarray
    exact_w1: np.ndarray
    f_from: int | None
    """The iteration that f is taken from, where it is known."""

    def bound(self, constant: float) -> np.ndarray:
        """The lower bound if f changes by at most `constant` a unit of distance."""
        return self.buffer_f - constant * self.w1


def bounds(runs: list[Run]) -> list[Bound]:
    """The measurements of all runs that have any."""
    found = []
    for run in runs:
        measured = run.analysis.get("lower_bound")
        if measured and measured["iteration"] and run.config:
            steps = _column(measured["iteration"]) * run.config["budget"].get("steps_per_iteration", 1)
            exact = _column(measured.get("exact_w1") or [None] * len(steps))
            expert_f, buffer_f, w1 = (_column(measured[name]) for name in ("expert_f", "buffer_f", "w1"))
            found.append(Bound(run, steps, expert_f, buffer_f, w1, exact, measured.get("f_from")))
    return found


def _column(values: list[Any]) -> np.ndarray:
    column = np.array(values, float)
    return np.where(np.abs(column) <= LARGEST_NUMBER, column, np.nan)


def bounds_table(bounds: list[Bound]) -> Table:
    """The gap between f on the expert and its lower bound, at the first and the last snapshot."""
    columns = [Column("run"), Column("f of iteration", "count"), Column("L", "share")]
    columns += [Column("first gap", "number"), Column("last gap", "number")]
    columns += [Column("last f on the expert", "number"), Column("last bound", "number")]
    columns += [Column("last W1 (critic)", "number"), Column("last W1 (exact)", "number")]
    rows = []
    for bound in bounds:
        for constant in CONSTANTS:
            gap = bound.expert_f - bound.bound(constant)
            row = [bound.run.name, bound.f_from, constant, float(gap[0]), float(gap[-1]), float(bound.expert_f[-1])]
            rows.append([*row, float(bound.bound(constant)[-1]), float(bound.w1[-1]), float(bound.exact_w1[-1])])
    note = "The gap is f on the expert's pairs less the bound. Below 0 the bound does not hold for this L."
    return Table("lower-bound", "The gap of the lower bound", columns, rows, note)
