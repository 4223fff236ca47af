"""The lower bound of f on the expert's pairs, as `analysis.json` has it: E_expert[f] >= E_buffer[f] - L W1."""

from dataclasses import dataclass

import numpy as np

from onlooker.report.entry import Run

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
            steps = np.array(measured["iteration"], float) * run.config["budget"].get("steps_per_iteration", 1)
            exact = measured.get("exact_w1") or [None] * len(steps)
            expert_f, buffer_f, w1 = (np.array(measured[name], float) for name in ("expert_f", "buffer_f", "w1"))
            f_from = measured.get("f_from")
            found.append(Bound(run, steps, expert_f, buffer_f, w1, np.array(exact, float), f_from))
    return found
