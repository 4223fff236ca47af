"""What is here and what is missing, in what runs of one name differ, and the hours that all of it took."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlooker import __version__
from onlooker.report.entry import STATES, Run
from onlooker.report.statistics import mean_and_spread
from onlooker.report.tables import Column, Table
from onlooker.report.variants import METHODS, Group, differing, settings, written
from onlooker.report.world_names import PRESETS, dynamics_order, env_order, robot


def counts(runs: list[Run]) -> str:
    """44 runs: 30 finished, 14 unfinished."""
    return listed(Counter(run.state for run in runs), STATES)


def listed(found: Counter[str], names: Sequence[str]) -> str:
    """How many runs there are of each name, in the order of the names."""
    told = ", ".join(f"{found[name]} {name}" for name in names if found[name])
    return f"{found.total()} run{'s' * (found.total() != 1)}: {told}"


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
