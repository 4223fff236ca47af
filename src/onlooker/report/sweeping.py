"""Return against one factor of the physics: how far may the learner's world differ from the expert's?"""

from dataclasses import replace

import numpy as np

from onlooker.report.comparisons import reference
from onlooker.report.panels import GREY, Level, Line, Panel, colors
from onlooker.report.statistics import mean_and_spread
from onlooker.report.variants import Group, choices, tell_apart, written
from onlooker.report.world_names import FACTORS, SHIPPED, changes, env_order, robot

LEAST = 3  # values of a factor make a sweep


def sweeps(found: list[Group]) -> list[Panel]:
    """A panel for each robot and factor that some method was run with three values of, and nothing else changed."""
    places: dict[tuple[str, str], dict[str, list[tuple[float, Group]]]] = {}
    for group in found:
        changed = changes(group.runs[0].config["world"])
        if len(changed) > 1 or not len(group.values("return")):
            continue
        alike = repr((group.method, sorted(choices(group.runs[0].config).items())))
        for factor in changed or FACTORS:  # the unchanged world belongs to every sweep
            value = changed.get(factor, SHIPPED[factor])
            if isinstance(value, int | float):
                place = places.setdefault((group.env, factor), {}).setdefault(alike, [])
                place.append((float(value), group))
    swept: dict[tuple[str, str], list[tuple[Group, list[tuple[float, Group]]]]] = {}
    for where, by_config in sorted(places.items(), key=lambda item: (env_order(item[0][0]), item[0][1])):
        long = [sorted(pairs, key=lambda pair: pair[0]) for pairs in by_config.values() if len(pairs) >= LEAST]
        if long:
            swept[where] = list(zip(_named([pairs[0][1] for pairs in long]), long))
    shades = colors([group for lines in swept.values() for group, _ in lines])
    return [_panel(env, factor, lines, shades) for (env, factor), lines in swept.items()]


def _panel(
    env: str, factor: str, swept: list[tuple[Group, list[tuple[float, Group]]]], shades: dict[str, str]
) -> Panel:
    lines = []
    for group, pairs in swept:
        means, spreads = zip(*(mean_and_spread(member.values("return")) for _, member in pairs))
        x = np.array([value for value, _ in pairs])
        lines.append(Line(group.label, shades[group.label], x, np.array(means), np.array(spreads)))
    level = reference([group for _, pairs in swept for _, group in pairs], "demo_return")
    levels = [Level("demonstration", GREY["demonstration"], level)] if np.isfinite(level) else []
    title, label = f"{robot(env)}, {factor}", factor
    if SHIPPED[factor] == 1:
        title, label = f"{robot(env)}, factor on {factor}", f"{factor}, times the expert's"
    return Panel(f"sweep-{robot(env)}-{factor}", title, label, "return", lines, levels, points=True)


def _named(groups: list[Group]) -> list[Group]:
    """The groups with variant names that tell them apart here: a name from one setting says nothing about others."""
    named = []
    for group in groups:
        alike = [written(other.runs[0].config) for other in groups if other.method == group.method]
        mine = alike.index(written(group.runs[0].config))
        named.append(replace(group, variant=tell_apart(alike, alike)[mine]))
    return named
