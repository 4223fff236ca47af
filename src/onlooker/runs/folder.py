"""The run folder: config, metrics, TensorBoard events, checkpoints, policy, result (see `docs/run-folder.md`)."""

import csv
import fcntl
import json
import math
import shutil
from pathlib import Path
from typing import IO, Any

from onlooker import __version__, demos
from onlooker.config import FORMAT, Config
from onlooker.demos import Demos
from onlooker.errors import UserError
from onlooker.runs import checkpoint
from onlooker.runs.layout import read_json
from onlooker.runs.tensorboard import Events
from onlooker.storage import atomic, save_arrays, write_json


class RunFolder:
    """A folder that one run writes to."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path, self.config = path, config
        self.checkpoints = path / "checkpoints"
        self._lock: IO | None = None
        self._metrics: IO | None = None
        self._timing: IO | None = None
        self._events: Events | None = None

    @staticmethod
    def create(path: Path, config: Config, demo: Demos | None = None) -> "RunFolder":
        """A new run that watches `demo`. A folder that holds anything already is refused: nothing is overwritten."""
        path = Path(path)
        if (path / "config.json").exists():
            raise UserError(
                f"{path} holds a run already; go on with `onlooker train --resume {path}`, or choose another --out"
            )
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UserError(f"{path} is there already and is no empty folder; choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise UserError(f"can't make the folder {path}: {failure.strerror}") from failure
        if demo is not None:
            demos.save(path / "demo.npz", demo)
        write_json(path / "config.json", config.to_json())
        return RunFolder(path, config)

    @staticmethod
    def open(path: Path) -> "RunFolder":
        """A run that was begun, by this version."""
        path = Path(path)
        data = read_json(path / "config.json")
        if data.get("format") != FORMAT or data.get("version") != __version__:
            raise UserError(
                f"{path} was begun by onlooker {data.get('version')}, this is {__version__}: "
                "it can't promise to go on with the same numbers"
            )
        try:
            return RunFolder(path, Config.from_json(data))
        except (KeyError, TypeError, AttributeError) as failure:
            raise UserError(f"{path} is no run folder: config.json is incomplete ({failure})") from failure

    @property
    def demo(self) -> Demos | None:
        """What the run watches: its own copy, so that it can go on wherever the original went."""
        path = self.path / "demo.npz"
        return demos.load(path) if path.exists() else None

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with: the config as JSON gives it back."""
        return json.loads(json.dumps(self.config.to_json()))

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "result.json").exists()

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is anything to go on from."""
        return bool(checkpoint.newest_first(self.checkpoints))

    def start_writing(self, iteration: int) -> None:
        """Open the logs to go on at `iteration`; lines of iterations after the last checkpoint are written again."""
        self._lock = (self.path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"another process is writing to {self.path}") from None
        for name in ("metrics.csv", "timing.csv"):
            keep_lines(self.path / name, iteration + 1 if iteration else 0)
        self._metrics = (self.path / "metrics.csv").open("a", newline="")
        self._timing = (self.path / "timing.csv").open("a", newline="")
        self._events = Events(self.path, iteration * self.config.budget.steps_per_iteration + 1)

    def log(self, iteration: int, metrics: dict[str, float], seconds: float) -> None:
        """One line of metrics. They are the same whenever the run is repeated; the seconds it took go elsewhere."""
        assert self._metrics is not None
        assert self._timing is not None
        assert self._events is not None
        _append(self._metrics, {"iteration": iteration, **metrics})
        _append(self._timing, {"iteration": iteration, "steps": metrics["steps"], "seconds": round(seconds, 4)})
        finite = {name: value for name, value in metrics.items() if name != "steps" and math.isfinite(value)}
        self._events.add(int(metrics["steps"]), finite)

    def save(self, iteration: int, state: Any, collector: dict[str, Any]) -> None:
        """A checkpoint after `iteration` iterations."""
        if self._events is not None:
            self._events.flush()
        checkpoint.save(self.checkpoints, iteration, state, collector, self.identity)

    def snapshot(self, iteration: int, tree: Any) -> None:
        """What the analyses will need of the run after `iteration` iterations."""
        folder = self.path / "snapshots"
        folder.mkdir(exist_ok=True)
        arrays = checkpoint.flatten(tree, "")
        save_arrays(folder / f"{iteration:08d}.npz", arrays, {"iteration": iteration}, compress=True)

    def seconds_so_far(self) -> float:
        """How long the run took before it was resumed."""
        lines = (self.path / "timing.csv").read_text().splitlines()
        return float(lines[-1].rsplit(",", 1)[1]) if len(lines) > 1 else 0.0

    def finish(self, result: dict[str, Any]) -> None:
        """Mark the run as complete. Its checkpoints are not needed any more."""
        write_json(self.path / "result.json", result)
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def close(self) -> None:
        """Close the logs."""
        for stream in (self._metrics, self._timing, self._events, self._lock):
            if stream is not None:
                stream.close()


def keep_lines(path: Path, count: int) -> None:
    """Drop what comes after the first `count` lines."""
    if path.exists():
        lines = path.read_bytes().splitlines(keepends=True)
        if len(lines) != count:
            with atomic(path) as stream:
                stream.writelines(lines[:count])


def _append(stream: IO, row: dict[str, Any]) -> None:
    writer = csv.writer(stream)
    if stream.tell() == 0:
        writer.writerow(row)
    writer.writerow(row.values())
    stream.flush()
