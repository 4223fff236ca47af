"""The learning curve of one run."""

from pathlib import Path

import numpy as np

from onlooker.runs.layout import read_config, read_metrics
from onlooker.storage import atomic

SHOWN = {
    "return": "true return (for reporting only)",
    "wasserstein": "Wasserstein estimate, expert to buffer",
    "episode_length": "steps of an episode",
}


def draw_curve(run: Path, references: dict[str, float] | None = None) -> Path:
    """Write `curve.png` into the run folder: true return over steps, with reference lines by name.

    Where there is no reward it shows what there is: the Wasserstein estimate, or the length of episodes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    config, metrics = read_config(run), read_metrics(run)
    shown = next((name for name in SHOWN if name in metrics and np.isfinite(metrics[name]).any()), "return")
    references = {name: level for name, level in (references or {}).items() if np.isfinite(level) and shown == "return"}
    steps, values = np.array(metrics["steps"]), np.array(metrics[shown])
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(steps / 1e6, values, color="#1f6fb2", linewidth=1.8, label=config["method"])
    for (name, level), style in zip(references.items(), ("--", ":", "-.") * 3):
        axes.axhline(level, color="0.4", linestyle=style, linewidth=1.2, label=f"{name}: {round(level):,}")
    axes.set_xlabel("million environment steps")
    axes.set_ylabel(SHOWN[shown])
    world, seed = config["world"], config["budget"]["seed"]
    axes.set_title(f"{config['method']} on {world['env']}, {world['dynamics']}, seed {seed}")
    axes.grid(alpha=0.3)
    if references:
        axes.legend()
    path = run / "curve.png"
    with atomic(path) as stream:
        FigureCanvasAgg(figure).print_png(stream)
    return path
