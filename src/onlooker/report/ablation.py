"""I2L runs that differ in nothing but the capacity of the elite buffer."""

import math

from onlooker.report.statistics import iqm, iqm_interval, mean_and_spread
from onlooker.report.tables import Column, Table
from onlooker.report.variants import Group, choices
from onlooker.report.world_names import robot

CAPACITY = "elite.capacity"


def without_ablated(found: list[Group]) -> list[Group]:
    """All groups but those that only vary the capacity: they have a table and a figure of their own."""
    ablated = {id(group) for members in ablations(found) for group in members.values() if group.variant}
    return [group for group in found if id(group) not in ablated]


def ablations(found: list[Group]) -> list[dict[int, Group]]:
    """Capacity -> group, for each setting in which I2L runs differ in nothing else."""
    alike: dict[tuple, dict[int, Group]] = {}
    for group in found:
        chosen = choices(group.runs[0].config)
        capacity = chosen.pop(CAPACITY, None)
        if group.method == "i2l" and isinstance(capacity, int):
            alike.setdefault((*group.setting, repr(sorted(chosen.items()))), {})[capacity] = group
    return [dict(sorted(members.items())) for members in alike.values() if len(members) > 1]


def ablation_table(number: int, members: dict[int, Group], found: list[Group]) -> Table:
    """Return by capacity, and GAIL-S beside it."""
    first = next(iter(members.values()))
    beside = [group for group in found if group.setting == first.setting and group.method == "gail-s"]
    columns = [Column("buffer"), Column("seeds", "count"), Column("return", "return"), Column("deviation", "return")]
    columns += [Column("IQM", "return"), Column("95% interval", "interval"), Column("eval_return", "return")]
    rows = []
    named = [(f"capacity {capacity}", group) for capacity, group in members.items()]
    for label, group in named + [(group.label, group) for group in beside]:
        values = group.values("return")
        middle = [float(iqm(values)), iqm_interval([values])] if len(values) else [math.nan, (math.nan, math.nan)]
        judged, _ = mean_and_spread(group.values("eval_return"))
        rows.append([label, len(values), *mean_and_spread(values), *middle, judged])
    return Table(f"capacity-{number}", f"{robot(first.env)}, {first.dynamics}", columns, rows)
