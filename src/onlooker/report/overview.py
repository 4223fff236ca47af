"""All settings in one picture: what the methods that see only states reach, and what the paper's did."""

from typing import Any, NamedTuple

import numpy as np

from onlooker.report.comparisons import reference, share, shares
from onlooker.report.figures import picture
from onlooker.report.panels import COLORS, GREY
from onlooker.report.paper import EXPERT, paper_return
from onlooker.report.variants import METHODS, Group, settings
from onlooker.report.world_names import PRESETS, robot

SHOWN = ("i2l", "gail-s", "gaifo", "bco")
SIZE = (3.4, 3.2)  # of the panel of one dynamics
WIDE = 0.84  # of the bars of one robot together


class Bar(NamedTuple):
    """A method in a setting; all numbers are shares of the demonstration's return."""

    dynamics: str
    robot: str
    method: str
    seeds: np.ndarray
    paper: float | None


def bars(found: list[Group]) -> list[Bar]:
    """Every finished group with the method's usual options in one of the paper's kinds of dynamics."""
    known = []
    for (env, dynamics), members in settings(found).items():
        demonstration = reference(members, "demo_return")
        for group in members:
            seeds = shares(group, "return", demonstration)
            if group.method in SHOWN and not group.variant and dynamics in PRESETS and len(seeds):
                theirs = paper_return(group.method, robot(env), dynamics)
                paper = None if theirs is None else share(theirs, EXPERT[robot(env)])
                known.append(Bar(dynamics, robot(env), group.method, seeds, paper))
    return known


def overview(found: list[Group]) -> dict[str, bytes]:
    """The picture as PNG and SVG, by file name; nothing where there is one bar or none."""
    known = bars(found)
    if len(known) < 2:
        return {}
    dynamics = [name for name in PRESETS if any(bar.dynamics == name for bar in known)]
    robots = list(dict.fromkeys(bar.robot for bar in known))
    methods = [method for method in SHOWN if any(bar.method == method for bar in known)]

    def draw(figure: Any) -> None:
        handles: dict[str, Any] = {}
        panels = np.ravel(figure.subplots(1, len(dynamics), sharey=True))
        for axes, name in zip(panels, dynamics):
            width = WIDE / len(methods)
            for bar in (bar for bar in known if bar.dynamics == name):
                beside = [other.method for other in known if (other.dynamics, other.robot) == (name, bar.robot)]
                x = robots.index(bar.robot) + width * (beside.index(bar.method) - (len(beside) - 1) / 2)
                color = COLORS[bar.method]
                handles[METHODS[bar.method]] = axes.bar(x, bar.seeds.mean(), 0.9 * width, color=color)
                if len(bar.seeds) > 1:
                    look = {"c": "white", "edgecolors": "black", "linewidths": 0.6, "zorder": 3}
                    handles["single seeds"] = axes.scatter([x] * len(bar.seeds), bar.seeds, 9, **look)
                if bar.paper is not None:
                    (mark,) = axes.plot([x - width / 2, x + width / 2], [bar.paper] * 2, color="black", linewidth=2)
                    handles["the paper's"] = mark
            demonstration = axes.axhline(1, color=GREY["demonstration"], linewidth=1, linestyle=(0, (5, 3)))
            axes.axhline(0, color="black", linewidth=0.8)
            axes.set_title(name, fontsize=10)
            axes.set_xticks(range(len(robots)), robots, fontsize=8)
            axes.set_xlim(-0.6, len(robots) - 0.4)
            axes.tick_params(axis="y", labelsize=8)
            axes.grid(axis="y", alpha=0.25)
            axes.set_axisbelow(True)
        panels[0].set_ylabel("return / demonstration's return", fontsize=9)
        last = {name: handles.pop(name) for name in ("single seeds", "the paper's") if name in handles}
        legend = handles | last | {"demonstration": demonstration}
        place = {"loc": "outside lower center", "ncols": len(legend), "fontsize": 8, "frameon": False}
        figure.legend(legend.values(), legend.keys(), **place)

    return picture("overview", (SIZE[0] * len(dynamics), SIZE[1]), draw)
