"""How soon runs come to what the paper's came to after 5 million steps."""

import math

import numpy as np

from onlooker.report.entry import Run
from onlooker.report.paper import paper_return
from onlooker.report.tables import Column, Table
from onlooker.report.variants import Group
from onlooker.report.world_names import robot

FINE = 10_000  # steps to which a mean is told; a thinned curve has a row each 25,000 or so


def steps_until(run: Run, level: float) -> float:
    """The steps after which its return is first at this level, as its curve tells; nan if it never is."""
    steps, returns = (np.asarray(run.curve.get(name, ()), float) for name in ("steps", "return"))
    there = np.flatnonzero(returns >= level)
    return float(steps[there[0]]) if len(there) else math.nan


def how_soon(found: list[Group]) -> Table:
    """For each setting and method of which the paper states a return: the steps and minutes to get there."""
    columns = [Column("dynamics"), Column("robot"), Column("method"), Column("paper", "return")]
    columns += [Column("seeds that reach it"), Column("steps", "steps"), Column("minutes", "count")]
    rows = []
    for group in found:
        paper = paper_return(group.method, robot(group.env), group.dynamics)
        if paper is None or not group.finished:
            continue
        needed = np.array([steps_until(run, paper) for run in group.finished])
        minutes = needed * [60 * run["hours"] / run.steps for run in group.finished]
        there = np.isfinite(needed)
        row = [group.dynamics, robot(group.env), group.label, paper, f"{there.sum()} of {len(needed)}"]
        means = [round(needed[there].mean() / FINE) * FINE, minutes[there].mean()] if there.any() else [None, None]
        rows.append(row + means)
    note = "Means over the seeds that reach it. Minutes are those of the whole run in proportion to its steps."
    return Table("sooner", "How soon the paper's return is reached", columns, rows, note)
