"""A live line while a run learns: steps, steps/s, time left, return. Plain lines where there is no terminal."""

import math
import sys
import time
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from onlooker.config import Config

QUIET_SECONDS = 15.0  # between two plain lines


class Progress:
    """Use as a context; `show` is a watcher of the loop."""

    def __init__(self, config: Config, path: Path) -> None:
        world, budget = config.world, config.budget
        print(
            f"{config.method} on {world.env} ({world.resolve()}), seed {budget.seed}, {budget.steps:,} steps -> {path}",
            flush=True,
        )
        self._total = budget.iterations * budget.steps_per_iteration
        self._first: tuple[float, float] | None = None  # (time, steps) after the first iteration, which compiles
        self._spoke = 0.0
        self._bars: Bars | None = None
        if sys.stdout.isatty():
            text = TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps  {task.fields[rate]}  {task.fields[ret]}")
            self._bars = Bars(BarColumn(), text, TextColumn("ETA"), TimeRemainingColumn(), console=Console())
            self._task = self._bars.add_task("", total=self._total, rate="compiling", ret="")

    def __enter__(self) -> "Progress":
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, kind: type | None, failure: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, iteration: int, metrics: dict[str, float]) -> None:
        """Bring the line up to date."""
        now, steps = time.monotonic(), metrics["steps"]
        if self._first is None:
            self._first = now, steps
            return
        began, first_steps = self._first
        rate = (steps - first_steps) / max(now - began, 1e-9)
        ret = f"return {metrics['return']:.0f}" if metrics["episodes"] else "return -"
        if metrics["episodes"] and math.isnan(metrics["return"]):
            ret = _without_return(metrics)
        if self._bars is not None:
            self._bars.update(self._task, completed=steps, rate=f"{rate:,.0f} steps/s", ret=ret)
        elif now - self._spoke > QUIET_SECONDS or steps >= self._total:
            self._spoke = now
            left = (self._total - steps) / max(rate, 1e-9)
            print(f"{steps:,.0f}/{self._total:,} steps  {rate:,.0f} steps/s  ETA {left:.0f} s  {ret}", flush=True)


def _without_return(metrics: dict[str, float]) -> str:
    """What there is to tell of a robot that has no reward."""
    words = [f"no reward, episodes of {metrics['episode_length']:.0f} steps"]
    if "forward_speed" in metrics:
        words.append(f"{metrics['forward_speed']:.2f} m/s")
    if math.isfinite(metrics.get("wasserstein", math.nan)):
        words.append(f"Wasserstein {metrics['wasserstein']:.2f}")
    return ", ".join(words)
