"""The tables of results: ours beside the paper's, over seeds and over settings."""

import math

import numpy as np

from onlooker.report.paper import EXPERT, paper_return, verdict
from onlooker.report.statistics import beats, beats_interval, iqm, iqm_interval, mean_and_spread
from onlooker.report.tables import Beside, Column, Table
from onlooker.report.unrewarded import has_reward
from onlooker.report.variants import METHODS, Group, settings
from onlooker.report.world_names import PRESETS, heading, robot

REFERENCES = {"demonstration": "demo_return", "random actions": "random_return", "zero actions": "zero_return"}


def reference(members: list[Group], name: str) -> float:
    """A return that belongs to a setting and not to a method, such as the demonstration's."""
    values = np.concatenate([group.values(name) for group in members])
    return float(values.mean()) if len(values) else math.nan


def share(value: float, demonstration: float) -> float:
    """A return as a fraction of the demonstration's; nan where that says nothing."""
    return value / demonstration if demonstration > 0 else math.nan


def shares(group: Group, name: str, otherwise: float) -> np.ndarray:
    """A return of each seed as a fraction of its demonstration's, or of the setting's if it had none."""
    demos = ((run[name], run["demo_return"]) for run in group.finished if math.isfinite(run[name]))
    found = np.array([share(value, demo if math.isfinite(demo) else otherwise) for value, demo in demos])
    return found[np.isfinite(found)]


def dynamics_tables(found: list[Group]) -> list[Table]:
    """For each dynamics, every robot and method in full."""
    columns = [
        Column("robot"),
        Column("method"),
        Column("steps", "steps"),
        Column("seeds", "count"),
        Column("return", "return"),
        Column("paper", "return"),
        Column("difference", "difference"),
        Column("verdict"),
        Column("deviation", "return"),
        Column("IQM", "return"),
        Column("95% interval", "interval"),
        Column("of demo", "share"),
        Column("eval_return", "return"),
        Column("eval of demo", "share"),
    ]
    rows: dict[str, list[list]] = {}
    for (env, dynamics), members in settings(
        [group for group in found if group.finished and has_reward(group)]
    ).items():
        demonstration = reference(members, "demo_return")
        where = robot(env) if dynamics in PRESETS else f"{robot(env)}, {dynamics}"
        lines = [_row(group, demonstration) for group in members] + _reference_rows(env, members)
        rows.setdefault(heading(dynamics), []).extend([where, *line] for line in lines)
    return [Table(f"dynamics-{name}", f"Dynamics: {name}", columns, lines) for name, lines in rows.items()]


def _row(group: Group, demonstration: float) -> list:
    returns, judged = group.values("return"), group.values("eval_return")
    mean, spread = mean_and_spread(returns)
    eval_mean, _ = mean_and_spread(judged)
    paper = paper_return(group.method, robot(group.env), group.dynamics)
    row = [group.label, group.steps, len(returns), mean, paper]
    row += [None, None] if paper is None or not len(returns) else [mean - paper, verdict(returns, paper)]
    middle = [float(iqm(returns)), iqm_interval([returns])] if len(returns) else [math.nan, (math.nan, math.nan)]
    row += [spread, *middle, mean_and_spread(shares(group, "return", demonstration))[0], eval_mean]
    return [*row, mean_and_spread(shares(group, "eval_return", demonstration))[0]]


def _reference_rows(env: str, members: list[Group]) -> list[list]:
    rows = []
    demonstration = reference(members, "demo_return")
    for label, name in REFERENCES.items():
        value = reference(members, name)
        paper = EXPERT.get(robot(env)) if name == "demo_return" else None
        rows.append([label, None, None, value, paper, *[None] * 5, share(value, demonstration), None, None])
    return rows


def summary(found: list[Group]) -> Table:
    """Robots and dynamics down, methods across: mean return, beside the paper's."""
    by_setting = settings([group for group in found if len(group.values("return"))])
    labels = list(dict.fromkeys(group.label for group in sorted(found, key=_method_first)))
    labels = [label for label in labels if any(g.label == label for gs in by_setting.values() for g in gs)]
    columns = [Column("dynamics"), Column("robot"), *(Column(label, "beside") for label in labels)]
    columns += [Column(label, "return") for label in REFERENCES]
    rows = []
    for (env, dynamics), members in by_setting.items():
        cells = {group.label: _beside(group) for group in members}
        references = [reference(members, name) for name in REFERENCES.values()]
        rows.append([dynamics, robot(env), *(cells.get(label) for label in labels), *references])
    return Table("summary", "Mean return over seeds", columns, rows)


def _method_first(group: Group) -> tuple:
    known = list(METHODS)
    return known.index(group.method) if group.method in known else len(known), group.method, group.variant


def _beside(group: Group) -> Beside:
    returns = group.values("return")
    paper = paper_return(group.method, robot(group.env), group.dynamics)
    return Beside(float(returns.mean()), paper, "" if paper is None else verdict(returns, paper))


def aggregates(found: list[Group]) -> Table:
    """Return as a fraction of the demonstration's, over settings: IQM and stratified bootstrap interval."""
    columns = [Column("dynamics"), Column("method"), Column("settings", "count"), Column("runs", "count")]
    columns += [Column("IQM of demo", "share"), Column("95% interval", "interval", of="share")]
    by_setting = settings(found)
    strata: dict[tuple[str, str], list[np.ndarray]] = {}
    for group in sorted(found, key=_method_first):
        values = shares(group, "return", reference(by_setting[group.setting], "demo_return"))
        if len(values) and group.dynamics in PRESETS:
            for scope in ("all of these", group.dynamics):
                strata.setdefault((scope, group.label), []).append(values)
    rows = []
    for scope in (*PRESETS, "all of these"):
        for (where, label), seeds in strata.items():
            if where == scope and len(seeds) > 1:
                pooled = np.concatenate(seeds)
                rows.append([scope, label, len(seeds), len(pooled), float(iqm(pooled)), iqm_interval(seeds)])
    note = "Seeds are drawn anew within each setting. Compare methods only where they have the same settings."
    return Table("aggregates", "Over settings, as a fraction of the demonstration's return", columns, rows, note)


def probabilities(found: list[Group]) -> Table:
    """How probable it is that a seed of I2L has more return than a seed of a baseline."""
    columns = [Column("I2L"), Column("baseline"), Column("dynamics"), Column("robot"), Column("seeds")]
    columns += [Column("probability", "share"), Column("95% interval", "interval", of="share")]
    pairs: dict[tuple[str, str], list[tuple[Group, Group]]] = {}
    for members in settings([group for group in found if len(group.values("return"))]).values():
        ours = [group for group in members if group.method == "i2l"]
        usual = [group for group in ours if not group.variant]
        for baseline in (group for group in members if group.method != "i2l"):
            for mine in usual or ours:
                pairs.setdefault((mine.label, baseline.label), []).append((mine, baseline))
    rows = []
    for (mine_label, label), compared in pairs.items():
        values = [(mine.values("return"), other.values("return")) for mine, other in compared]
        mean = float(np.mean([beats(*pair) for pair in values]))
        over = f"{len(values)} setting{'s' * (len(values) > 1)}"
        rows.append([mine_label, label, "mean", over, "", mean, beats_interval(values)])
        for (mine, other), pair in zip(compared, values):
            seeds = f"{len(pair[0])} x {len(pair[1])}"
            row = [mine_label, label, mine.dynamics, robot(other.env), seeds]
            rows.append([*row, float(beats(*pair)), beats_interval([pair])])
    note = "Over all pairs of seeds; a tie counts half. With one seed each it can only be 0 or 1."
    return Table("probability", "Probability that I2L beats each baseline", columns, rows, note)
