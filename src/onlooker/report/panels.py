"""What a figure shows, without saying how: the page and the picture files are drawn from the same panels."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlooker.report.ablation import without_ablated
from onlooker.report.comparisons import REFERENCES, reference
from onlooker.report.lower_bound import CONSTANTS, Bound
from onlooker.report.statistics import mean_and_spread
from onlooker.report.variants import Group, settings
from onlooker.report.world_names import heading, robot

POINTS = 120  # of a line
COLORS = {
    "i2l": "#1f6fb2",
    "gail-s": "#d1602f",
    "gaifo": "#2b8a57",
    "bco": "#8a5fb0",
    "bc": "#7a6a5a",
    "gail-sa": "#c2418c",
    "airl": "#0f8f9c",
    "ppo": "#7a8500",
    "transfer": "#b03a48",
}
MORE_COLORS = (
    *("#d1602f", "#2b8a57", "#8a5fb0", "#c2418c", "#0f8f9c", "#a08600"),
    *("#7a8500", "#b03a48", "#5a6fd0", "#7a6a5a", "#00806b", "#9a4f96"),
)
GREY = {"demonstration": "#222222", "random actions": "#777777", "zero actions": "#aaaaaa"}
AS_LEVELS = ("gail-sa", "airl", "ppo", "transfer")  # drawn as the level that they reach, not as curves


@dataclass(frozen=True, eq=False)
class Line:
    """A curve with its spread, or single points."""

    label: str
    color: str
    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray | None = None


@dataclass(frozen=True)
class Level:
    """A horizontal line."""

    label: str
    color: str
    y: float
    dashed: bool = True


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    name: str
    """Of its file, once `build` has made it fit for one."""
    title: str
    x_label: str
    y_label: str
    lines: list[Line]
    levels: list[Level] = field(default_factory=list)
    points: bool = False
    """Mark the single points."""
    heading: str = ""
    """Panels under one heading stand beside each other."""

    def to_json(self) -> dict[str, Any]:
        """For the page's script; what is no number is null."""
        lines = [
            {
                "label": line.label,
                "color": line.color,
                "x": _plain(line.x),
                "y": _plain(line.y),
                "spread": None if line.spread is None else _plain(line.spread),
            }
            for line in self.lines
        ]
        about = {"title": self.title, "x": self.x_label, "y": self.y_label, "points": self.points}
        return about | {"lines": lines, "levels": [vars(level) for level in self.levels]}


def learning_curves(found: list[Group]) -> list[Panel]:
    """Return over steps in every setting. Ablated runs have a figure of their own."""
    panels, shades = [], colors(found)
    for members in settings(without_ablated(found)).values():
        with_curve = [group for group in members if any("return" in run.curve for run in group.runs)]
        curves = [group for group in with_curve if group.method not in AS_LEVELS] or with_curve
        levels = [level for group in members if group not in curves for level in _reached(group, shades)]
        panel = _curves("curves", "return", curves, shades, members[0].setting, levels + references(members))
        if panel.lines or levels:
            panels.append(panel)
    return panels


def action_curves(found: list[Group]) -> list[Panel]:
    """Return over steps of the methods that see actions, beside I2L."""
    panels, shades = [], colors(found)
    for members in settings(found).values():
        if {group.method for group in members} & {"gail-sa", "airl"}:
            usual = [group for group in members if group.method == "i2l" and not group.variant]
            curves = usual + [group for group in members if group.method in ("gail-sa", "airl")]
            panels.append(_curves("actions", "return", curves, shades, members[0].setting, references(members)))
    return [panel for panel in panels if panel.lines]


def distances(found: list[Group]) -> list[Panel]:
    """The Wasserstein estimate over steps in every setting."""
    by_setting, shades = settings(without_ablated(found)), colors(found)
    panels = [_curves("wasserstein", "wasserstein", drawn, shades, place, []) for place, drawn in by_setting.items()]
    return [panel for panel in panels if panel.lines]


def capacity_curves(number: int, members: dict[int, Group], found: list[Group]) -> Panel:
    """Return over steps by the buffer's capacity, and GAIL-S beside it."""
    first = next(iter(members.values()))
    beside = [group for group in found if group.setting == first.setting and group.method == "gail-s"]
    shades = ("#9ecae8", "#5ba3d4", "#1f6fb2", "#174f80", "#0c2c4a", *MORE_COLORS)
    lines = [
        line
        for (capacity, group), color in zip(members.items(), shades)
        for line in curve(group, "return", color, f"capacity {capacity}")
    ]
    lines += [line for group in beside for line in curve(group, "return", COLORS["gail-s"])]
    name = f"capacity-{number}-{robot(first.env)}-{first.dynamics}"
    title = f"{robot(first.env)}, {first.dynamics}"
    return Panel(name, title, "million steps", "return", lines, references([*members.values(), *beside]))


def bound_panels(found: list[Bound]) -> list[Panel]:
    """For each run: f on the expert with its lower bounds, then W1 by the critic beside the exact one."""
    panels = []
    shades = dict(zip(CONSTANTS, ("#7fb8e0", "#1f6fb2", "#0c2c4a")))
    for bound in found:
        run, x = bound.run, bound.steps / 1e6
        place = f"{robot(run.env)}, {run.dynamics}, seed {run.seed}" + (f", {run.variant}" if run.variant else "")
        lines = [Line("f on the expert", "#222222", x, bound.expert_f)]
        lines += [Line(f"bound, L = {c:g}", shades[c], x, bound.bound(c)) for c in CONSTANTS]
        panels.append(Panel(f"bound-{run.name}", place, "million steps", "f", lines, points=True))
        lines = [Line("W1, critic", "#1f6fb2", x, bound.w1)]
        lines += [Line("W1, exact", "#d1602f", x, bound.exact_w1)] if np.isfinite(bound.exact_w1).any() else []
        panels.append(Panel(f"bound-w1-{run.name}", place, "million steps", "W1", lines, points=True))
    return panels


def curve(group: Group, column: str, color: str, label: str = "") -> list[Line]:
    """Mean and deviation over seeds of a column of metrics.csv; finished runs only, unless there are none."""
    label = label or group.label
    runs = [run for run in group.finished if column in run.curve]
    if not runs:
        runs = [run for run in group.runs if column in run.curve]
        label += " (unfinished)"
    if not runs:
        return []
    end = min(run.curve["steps"][-1] for run in runs)
    x = np.linspace(0, end, POINTS) if end > 0 else np.zeros(1)
    y = np.array([_at(x, run.curve["steps"], run.curve[column]) for run in runs])
    spread = y.std(axis=0, ddof=1) if len(runs) > 1 else None
    return [Line(label, color, x / 1e6, y.mean(axis=0), spread)]


def _at(x: np.ndarray, steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values between the rows of a curve; nan where there is nothing yet."""
    there = np.isfinite(values)
    return np.interp(x, steps[there], values[there], left=np.nan, right=np.nan)


def _curves(
    kind: str, column: str, drawn: list[Group], shades: dict[str, str], place: tuple[str, str], levels: list[Level]
) -> Panel:
    env, dynamics = place
    lines = [line for group in drawn for line in curve(group, column, shades[group.label])]
    label = "return" if column == "return" else "estimate of W1"
    title, name = f"{robot(env)}, {dynamics}", f"{kind}-{robot(env)}-{dynamics}"
    return Panel(name, title, "million steps", label, lines, levels, heading=heading(dynamics))


def colors(members: list[Group]) -> dict[str, str]:
    """One colour a label, in all panels: a method's own for its usual variant, then others that are still free."""
    own = {group.label: COLORS[group.method] for group in members if not group.variant and group.method in COLORS}
    free = [color for color in (*MORE_COLORS, *COLORS.values()) if color not in own.values()] or list(MORE_COLORS)
    others = dict.fromkeys(group.label for group in members if group.label not in own)
    return own | {label: free[index % len(free)] for index, label in enumerate(others)}


def _reached(group: Group, shades: dict[str, str]) -> list[Level]:
    mean, _ = mean_and_spread(group.values("return"))
    return [Level(group.label, shades[group.label], mean, dashed=False)] if np.isfinite(mean) else []


def references(members: list[Group]) -> list[Level]:
    """What the demonstration, random and zero actions reach in a setting, as finished runs of it tell."""
    levels = (Level(label, GREY[label], reference(members, name)) for label, name in REFERENCES.items())
    return [level for level in levels if np.isfinite(level.y)]


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values]
