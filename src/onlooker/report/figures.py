"""Panels as picture files."""

import io
import itertools
import re
import warnings
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from onlooker.report.panels import Panel

SIZE = (6.4, 4.2)
ROW = (3.6, 3.0)  # of one panel in a row of several
LONGEST = 60  # letters of a file's name; each may take four bytes of the 255 that a file system has


def slug(name: str) -> str:
    """A name that is good for a file, and not too long for one."""
    return re.sub(r"[^\w.=+-]+", "-", name).strip("-.")[:LONGEST].strip("-.") or "unnamed"


def fresh(name: str, taken: Container[str]) -> str:
    """The name, or with a number behind it if it is taken: `a b` and `a-b` are one name to a file."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def draw(panel: Panel) -> dict[str, bytes]:
    """A panel as PNG and SVG, by file name."""
    return _files([panel], panel.name, SIZE)


def draw_row(panels: list[Panel], name: str) -> dict[str, bytes]:
    """Several panels beside each other with one legend, as PNG and SVG."""
    return _files(panels, name, (ROW[0] * len(panels), ROW[1] + 0.6))


def picture(name: str, size: tuple[float, float], draw: Callable[[Any], None]) -> dict[str, bytes]:
    """What `draw` draws on a figure, as PNG and SVG, by file name; the same drawing gives the same bytes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    plain: dict[Any, Any] = {
        "svg.hashsalt": "onlooker",
        "svg.fonttype": "path",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,  # a $ in a name is a $
    }
    with matplotlib.rc_context(plain), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of letters that its font lacks, and of names too long to fit
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_png(png)
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    return {f"{name}.png": png.getvalue(), f"{name}.svg": svg.getvalue()}


def _files(panels: list[Panel], name: str, size: tuple[float, float]) -> dict[str, bytes]:
    def draw(figure: Any) -> None:
        handles: dict[str, Any] = {}
        for axes, panel in zip(np.ravel(figure.subplots(1, len(panels))), panels):
            handles |= _draw(axes, panel)
        columns = 3 if len(panels) == 1 else 2 * len(panels)
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=columns, fontsize=8, frameon=False
        )

    return picture(name, size, draw)


def _draw(axes: Any, panel: Panel) -> dict[str, Any]:
    """The panel on a pair of axes; what a legend shows, by label."""
    handles: dict[str, Any] = {}
    for line in panel.lines:
        marks: dict[str, Any] = {"marker": "o", "markersize": 4} if panel.points else {}
        (handles[line.label],) = axes.plot(line.x, line.y, color=line.color, linewidth=1.6, **marks)
        if line.spread is not None and panel.points:
            axes.errorbar(line.x, line.y, line.spread, color=line.color, linewidth=0, elinewidth=1, capsize=2)
        elif line.spread is not None:
            low, high = line.y - line.spread, line.y + line.spread
            axes.fill_between(line.x, low, high, color=line.color, alpha=0.18, linewidth=0)
    for level in panel.levels:
        dashes = (0, (5, 3)) if level.dashed else (0, (1, 1.2))
        handles[level.label] = axes.axhline(level.y, color=level.color, linewidth=1.2, linestyle=dashes)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label, fontsize=9)
    axes.set_ylabel(panel.y_label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    return handles
