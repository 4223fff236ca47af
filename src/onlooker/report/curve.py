"""The learning curve of one run."""

from pathlib import Path

import numpy as np

from onlooker.runs.layout import read_config, read_metrics
from onlooker.storage import atomic


def draw_curve(run: Path, references: dict[str, float] | None = None) -> Path:
    """Write `curve.png` into the run folder: true return over steps, with reference lines by name."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    config, metrics = read_config(run), read_metrics(run)
    steps, returns = np.array(metrics["steps"]), np.array(metrics["return"])
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(steps / 1e6, returns, color="#1f6fb2", linewidth=1.8, label=config["method"])
    for (name, level), style in zip((references or {}).items(), ("--", ":", "-.") * 3):
        axes.axhline(level, color="0.4", linestyle=style, linewidth=1.2, label=f"{name}: {round(level):,}")
    axes.set_xlabel("million environment steps")
    axes.set_ylabel("true return (for reporting only)")
    world, seed = config["world"], config["budget"]["seed"]
    axes.set_title(f"{config['method']} on {world['env']}, {world['dynamics']}, seed {seed}")
    axes.grid(alpha=0.3)
    if references:
        axes.legend()
    path = run / "curve.png"
    with atomic(path) as stream:
        FigureCanvasAgg(figure).print_png(stream)
    return path
