"""Runs of robots that have no reward: what there is to tell of them instead."""

import math

import numpy as np

from onlooker.report.entry import Run
from onlooker.report.statistics import mean_and_spread
from onlooker.report.tables import Column, Table
from onlooker.report.variants import Group
from onlooker.report.world_names import robot

TOLD = {"episode length": "episode_length", "forward speed, m/s": "forward_speed", "Wasserstein": "wasserstein"}


def has_reward(group: Group) -> bool:
    """Whether any of its finished runs knows a return."""
    return bool(len(group.values("return")) or len(group.values("random_return")))


def unrewarded(found: list[Group]) -> Table:
    """What each group came to in its last rollouts."""
    columns = [
        Column("dynamics"),
        Column("robot"),
        Column("method"),
        Column("steps", "steps"),
        Column("seeds", "count"),
    ]
    columns += [Column(title, "number") for title in TOLD]
    rows = []
    for group in found:
        if group.finished and not has_reward(group):
            last = [
                mean_and_spread(np.array([_last(run, name) for run in group.finished]))[0] for name in TOLD.values()
            ]
            rows.append([group.dynamics, robot(group.env), group.label, group.steps, len(group.finished), *last])
    return Table("no-reward", "Robots without a reward, at the end of their runs", columns, rows)


def _last(run: Run, name: str) -> float:
    values = run.curve.get(name, np.zeros(0))
    return float(values[-1]) if len(values) else math.nan
