"""A picture of a demonstration: its states over time, and a film strip if frames are at hand."""

from pathlib import Path
from typing import Any

import numpy as np

from onlooker.demos.dataset import Demos, brief
from onlooker.demos.files import new_file
from onlooker.errors import UserError

ALL_AS_LINES = 8  # up to so many numbers a state, each gets its line; beyond, a heat map shows all and lines a few
FEW_LINES = 5
MAX_FRAMES = 8
MAX_COLUMNS = 1200  # about one a pixel
WIDTH = 11.0  # inches
INK, SOFT, BOUNDARY = "#22303c", "#6b7a88", "#222222"
LINE_COLOURS = ("#2a6f97", "#c8553d", "#588157", "#8a5a9e", "#b08900", "#3d8f8f", "#8c4a5a", "#4f5d75")


def plot(demos: Demos, path: str | Path, frames: list[np.ndarray] | None = None) -> Path:
    """Write a PNG of the states over time; frames: images [H, W, 3] uint8 in order, for a film strip."""
    # Figure and canvas are made by hand: pyplot would keep global state and may want a screen.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = demos.obs.shape[1]
    deviation = demos.obs.std(axis=0)
    # The numbers that move most say most; shown in the order in which they are in the state.
    shown = np.arange(size) if size <= ALL_AS_LINES else np.sort(np.argsort(-deviation, kind="stable")[:FEW_LINES])
    strip = _film_strip(frames) if frames else None

    heights = [0.62] * len(shown)
    if size > ALL_AS_LINES:
        heights.insert(0, float(np.clip(0.13 * size, 2.2, 5.5)))
    if strip is not None:
        heights.insert(0, (WIDTH - 1.6) * strip.shape[0] / strip.shape[1])
    top, bottom = 0.95, 0.55
    height = top + bottom + sum(heights) + 0.12 * (len(heights) - 1)
    figure = Figure(figsize=(WIDTH, height), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(
        len(heights), 1, height_ratios=heights, left=0.085, right=0.94,
        top=1 - top / height, bottom=bottom / height, hspace=0.12 / (sum(heights) / len(heights)),
    )  # fmt: skip
    axes = [figure.add_subplot(grid[i]) for i in range(len(heights))]

    # A name from outside may hold a $, which is no formula.
    bold: dict[str, Any] = {"fontsize": 15, "fontweight": "bold", "color": INK, "va": "center", "parse_math": False}
    figure.text(0.085, 1 - 0.32 / height, _title(demos), **bold)
    figure.text(0.085, 1 - 0.62 / height, _subtitle(demos), fontsize=10, color=SOFT, va="center")
    if strip is not None:
        frame_axis = axes.pop(0)
        frame_axis.imshow(strip, aspect="equal")
        frame_axis.set_axis_off()
    if size > ALL_AS_LINES:
        _heat_map(figure, axes[0], demos, deviation)
    for axis, dimension, colour in zip(axes[-len(shown) :], shown, LINE_COLOURS):
        _line(axis, demos, int(dimension), colour)
    boundary_width = 1.0 if len(demos.lengths) <= 40 else 0.3
    for axis in axes:
        axis.set_xlim(-0.5, len(demos.obs) - 0.5)
        axis.tick_params(labelsize=8, colors=SOFT, length=2, labelbottom=axis is axes[-1], bottom=axis is axes[-1])
        for _, stop in demos.episodes()[:-1]:
            axis.axvline(stop - 0.5, color=BOUNDARY, linewidth=boundary_width, linestyle=(0, (4, 2)), alpha=0.8)
    legend = ["recorded state"]
    legend += [f"lines: the {FEW_LINES} numbers that vary most"] if size > ALL_AS_LINES else []
    legend += ["dashed: a new episode begins"] if len(demos.lengths) > 1 else []
    axes[-1].set_xlabel("   ·   ".join(legend), fontsize=9, color=INK)

    path = Path(path)
    with new_file(path, overwrite=True) as temporary:
        figure.savefig(temporary, format="png")
    return path


def _title(demos: Demos) -> str:
    name = demos.meta.get("env")
    return f"Demonstration in {brief(name)}" if isinstance(name, str) else "Demonstration"


def _subtitle(demos: Demos) -> str:
    """Length, sizes and return in one line."""
    count, (steps, size) = len(demos.lengths), demos.obs.shape
    parts = [f"{count} episode{'s' if count > 1 else ''}", f"{steps:,} states of {size} numbers"]
    parts.append("states only" if demos.action is None else f"actions of {demos.action.shape[1]}")
    returns = demos.returns()
    if returns is not None and count == 1:
        parts.append(f"return {returns[0]:,.0f}")
    elif returns is not None:
        parts.append(f"return {returns.mean():,.0f} on average, {returns.min():,.0f} to {returns.max():,.0f}")
    return "   ·   ".join(parts)


def _heat_map(figure: Any, axis: Any, demos: Demos, deviation: np.ndarray) -> None:
    """All dimensions, each as deviations from its mean; a long recording is averaged to MAX_COLUMNS columns."""
    standard = (demos.obs - demos.obs.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    starts = np.arange(0, len(standard), -(-len(standard) // MAX_COLUMNS))
    columns = np.add.reduceat(standard, starts) / np.diff(starts, append=len(standard))[:, None]
    extent = (-0.5, len(standard) - 0.5, standard.shape[1] - 0.5, -0.5)
    image = axis.imshow(
        columns.T, aspect="auto", cmap="RdBu_r", vmin=-2.5, vmax=2.5, interpolation="nearest", extent=extent
    )
    for spine in axis.spines.values():
        spine.set_color("#d5dbe1")
    axis.set_ylabel("number in the state", fontsize=9, color=INK)
    box = axis.get_position()
    bar = figure.colorbar(image, cax=figure.add_axes((box.x1 + 0.008, box.y0, 0.009, box.height)))
    bar.set_label("deviations from its mean", fontsize=8, color=SOFT)
    bar.ax.tick_params(labelsize=7, colors=SOFT, length=2)
    bar.outline.set_visible(False)


def _line(axis: Any, demos: Demos, dimension: int, colour: str) -> None:
    """One dimension in its own units, broken where an episode ends."""
    for start, stop in demos.episodes():
        marker = "." if stop - start == 1 else None
        axis.plot(np.arange(start, stop), demos.obs[start:stop, dimension], color=colour, linewidth=0.9, marker=marker)
    axis.set_ylabel(f"obs {dimension}", fontsize=9, color=colour, rotation=0, ha="right", va="center")
    axis.yaxis.tick_right()
    axis.locator_params(axis="y", nbins=3)
    axis.margins(y=0.15)
    axis.grid(axis="y", color="#e6eaee", linewidth=0.6)
    for side in ("top", "left", "right"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color("#d5dbe1")


def _film_strip(frames: list[np.ndarray]) -> np.ndarray:
    """[H, W, 3] uint8: at most MAX_FRAMES frames, evenly chosen, side by side with a white gap."""
    for frame in frames:
        if np.ndim(frame) != 3 or frame.shape != frames[0].shape or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise UserError(f"frames must be equal images [H, W, 3] of uint8; got {np.shape(frame)}")
    chosen = np.unique(np.linspace(0, len(frames) - 1, MAX_FRAMES).round().astype(int))
    gap = np.full((frames[0].shape[0], max(2, frames[0].shape[1] // 40), 3), 255, np.uint8)
    pieces = [piece for index in chosen for piece in (gap, frames[index])]
    return np.concatenate(pieces[1:], axis=1)
