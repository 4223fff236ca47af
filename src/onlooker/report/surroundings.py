"""The tables around the results: what is here, what is missing, the ablation, the lower bound, speed and hours."""

import math
from typing import Any

import numpy as np

from onlooker import __version__
from onlooker.report.bounds import CONSTANTS, Bound
from onlooker.report.entry import STATES, Run
from onlooker.report.statistics import iqm, iqm_interval, mean_and_spread
from onlooker.report.tables import Column, Table
from onlooker.report.variants import METHODS, Group, choices, differing, settings, written
from onlooker.report.worlds import PRESETS, dynamics_order, env_order, robot

CAPACITY = "elite.capacity"


def counts(runs: list[Run]) -> str:
    """44 runs: 30 finished, 14 unfinished."""
    each = [(sum(run.state == state for run in runs), state) for state in STATES]
    told = ", ".join(f"{count} {state}" for count, state in each if count)
    return f"{len(runs)} run{'s' * (len(runs) != 1)}: {told}"


def is_partial(runs: list[Run]) -> bool:
    """Whether anything that was begun or asked for is not there."""
    return any(run.state not in ("finished", "duplicate") for run in runs)


def coverage(found: list[Group]) -> Table:
    """Finished runs of those begun, for every robot, dynamics and method that occurs."""
    known = [*METHODS, *sorted({group.method for group in found} - METHODS.keys())]
    methods = [method for method in known if any(group.method == method for group in found)]
    by_setting = settings(found)
    envs = {env for env, _ in by_setting}
    presets = {name for _, name in by_setting if name in PRESETS}
    wanted = by_setting.keys() | {(env, name) for env in envs for name in presets}
    columns = [Column("dynamics"), Column("robot"), *(Column(METHODS.get(name, name), "cell") for name in methods)]
    rows = []
    for env, dynamics in sorted(wanted, key=lambda setting: (dynamics_order(setting[1]), env_order(setting[0]))):
        row: list[Any] = [dynamics, robot(env)]
        for method in methods:
            members = [group for group in by_setting.get((env, dynamics), []) if group.method == method]
            begun = sum(len(group.runs) for group in members)
            row.append(f"{sum(len(group.finished) for group in members)} of {begun}" if begun else "not run")
        rows.append(row)
    note = "Finished runs of those begun, all variants and seeds together."
    return Table("coverage", "What is here", columns, rows, note)


def attention(runs: list[Run]) -> Table:
    """Every run that is not finished, not used or not whole, with the reason."""
    rows = [[run.name, run.state, run.version, run.note] for run in runs if run.state != "finished" or run.note]
    columns = [Column("run"), Column("state"), Column("version"), Column("reason")]
    return Table("attention", "What is missing or not whole", columns, rows)


def other_versions(runs: list[Run]) -> dict[str, list[str]]:
    """Names of the runs that another version of the package made, by version. They are read as they are."""
    found: dict[str, list[str]] = {}
    for run in runs:
        if run.version and run.version != __version__:
            found.setdefault(run.version, []).append(run.name)
    return found


def different_demonstrations(found: list[Group]) -> list[str]:
    """Settings whose runs watched recordings of different returns."""
    told = []
    for (env, dynamics), members in settings(found).items():
        returns = np.concatenate([group.values("demo_return") for group in members])
        if len(returns) and np.ptp(returns) > 0.001 * np.abs(returns).max():
            told.append(f"{robot(env)}, {dynamics}: {returns.min():,.0f} to {returns.max():,.0f}")
    return told


def between_settings(found: list[Group]) -> list[str]:
    """In what runs of one name differ from setting to setting, so that nobody takes them for the same."""
    chosen: dict[str, list[dict[str, str]]] = {}
    for group in found:
        chosen.setdefault(group.label, []).append(written(group.runs[0].config))
    return [f"{label}: {', '.join(differing(made))}" for label, made in chosen.items() if differing(made)]


def without_ablated(found: list[Group]) -> list[Group]:
    """All groups but those that only vary the capacity: they have a table and a figure of their own."""
    ablated = {id(group) for members in ablations(found) for group in members.values() if group.variant}
    return [group for group in found if id(group) not in ablated]


def ablations(found: list[Group]) -> list[dict[int, Group]]:
    """Capacity -> group, for each setting in which I2L runs differ in nothing else."""
    alike: dict[tuple, dict[int, Group]] = {}
    for group in found:
        chosen = choices(group.runs[0].config)
        if group.method == "i2l" and CAPACITY in chosen:
            capacity = chosen.pop(CAPACITY)
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


def speed(found: list[Group]) -> Table:
    """Steps a second and hours, by robot and method."""
    columns = [Column("robot"), Column("method"), Column("runs", "count"), Column("steps/s", "return")]
    columns += [Column("hours a run", "share"), Column("hours in all", "share")]
    together: dict[tuple[str, str], list[Run]] = {}
    for group in sorted(found, key=lambda group: env_order(group.env)):
        together.setdefault((robot(group.env), METHODS.get(group.method, group.method)), []).extend(group.runs)
    rows: list[list[Any]] = []
    for (name, method), runs in together.items():
        whole = [run["hours"] for run in runs if run.state == "finished"]
        rates = np.array([run["steps_per_second"] for run in runs])
        rows.append([name, method, len(runs), mean_and_spread(rates[np.isfinite(rates)])[0]])
        rows[-1] += [mean_and_spread(np.array(whole))[0], _total(runs)]
    rows.append(
        ["all", "", sum(row[2] for row in rows), None, None, _total([r for rs in together.values() for r in rs])]
    )
    note = "Steps a second without the first iteration, which compiles. Hours a run: of finished runs; in all: of all."
    return Table("speed", "By robot and method", columns, rows, note)


def _total(runs: list[Run]) -> float:
    hours = np.array([run["hours"] for run in runs])
    return float(hours[np.isfinite(hours)].sum())
