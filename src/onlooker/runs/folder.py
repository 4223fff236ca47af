"""The run folder: config, metrics, TensorBoard events, checkpoints, policy, result (see `docs/run-folder.md`)."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from onlooker import __version__, demos
from onlooker.config import Config
from onlooker.demos import Demos
from onlooker.envs import robot_copy
from onlooker.envs.world import World
from onlooker.errors import UserError, printable
from onlooker.policies import policy_file
from onlooker.policies.policy import Policy
from onlooker.runs import checkpoint, layout
from onlooker.runs.tensorboard import Events
from onlooker.storage import atomic, locked, save_arrays, write_json


class RunFolder:
    """A folder that one run writes to."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path, self.config = path, config
        self.checkpoints = path / layout.CHECKPOINTS
        self._lock: IO | None = None
        self._metrics: IO | None = None
        self._timing: IO | None = None
        self._events: Events | None = None

    @staticmethod
    def create(path: Path, config: Config, shown: Demos | Policy | None = None) -> "RunFolder":
        """A new run that is shown this of the expert. A folder that holds anything already is refused: nothing is
        overwritten."""
        path = Path(path)
        if (path / layout.CONFIG).exists():
            raise UserError(
                f"{path} holds a run already; go on with `onlooker train --resume {path}`, or choose another --out"
            )
        # A process that was killed while it made the folder leaves what is shown and the robot, and nothing else.
        ours = {layout.DEMO, layout.EXPERT, layout.ROBOT}
        if path.exists() and (not path.is_dir() or any(entry.name not in ours for entry in path.iterdir())):
            raise UserError(f"{path} is there already and is no empty folder; choose another --out")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as failure:
            raise UserError(f"can't make the folder {path}: {failure.strerror}") from failure
        except ValueError as failure:
            raise UserError(f"can't make the folder {printable(str(path))}: {failure}") from failure
        if isinstance(shown, Demos):
            demos.save(path / layout.DEMO, shown, overwrite=True)
        elif shown is not None:
            policy_file.save(path / layout.EXPERT, shown)
        robot_copy.keep(config.world, path / layout.ROBOT)
        write_json(path / layout.CONFIG, {"format": layout.FORMAT, **config.to_json()})
        return RunFolder(path, config)

    @staticmethod
    def open(path: Path) -> "RunFolder":
        """A run that was begun, by this version."""
        path = Path(path)
        data = layout.read_config(path)
        if data.get("version") != __version__:
            raise UserError(
                f"{path} was begun by onlooker {printable(str(data.get('version')))}, this is {__version__}: "
                "it can't promise to go on with the same numbers"
            )
        try:
            return RunFolder(path, Config.from_json(data))
        except (KeyError, TypeError, AttributeError) as failure:
            raise UserError(f"{path} is no run folder: {layout.CONFIG} is incomplete ({failure})") from failure

    def read_shown(self) -> Demos | Policy | None:
        """What the run is shown of the expert: its own copy, so that it can go on wherever the original went."""
        if (self.path / layout.EXPERT).exists():
            return policy_file.load(self.path / layout.EXPERT)
        path = self.path / layout.DEMO
        return demos.load(path, quiet=True) if path.exists() else None

    @property
    def world(self) -> World:
        """Where the learner lives; a robot from a file is the run's own copy of it."""
        return self.config.world.kept_in(self.path / layout.ROBOT)

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must agree with: the config as JSON gives it back, but for the steps, of which there may be
        more than it was begun with."""
        config = json.loads(json.dumps(self.config.to_json()))
        return config | {"budget": {name: value for name, value in config["budget"].items() if name != "steps"}}

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / layout.RESULT).exists()

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is anything to go on from."""
        return bool(checkpoint.newest_first(self.checkpoints))

    def start_writing(self, iteration: int) -> None:
        """Open the logs to go on at `iteration`; lines of iterations after the last checkpoint are written again."""
        self._lock = locked(self.path / layout.LOCK)
        if self._lock is None:
            raise UserError(f"another process is writing to {self.path}")
        for name in (layout.METRICS, layout.TIMING):
            keep_lines(self.path / name, iteration + 1 if iteration else 0)
        self._metrics = (self.path / layout.METRICS).open("a", newline="")
        self._timing = (self.path / layout.TIMING).open("a", newline="")
        self._events = Events(self.path, iteration * self.config.budget.steps_per_iteration + 1)

    def log(self, iteration: int, metrics: dict[str, float], seconds: float) -> None:
        """One line of metrics. They are the same whenever the run is repeated; the seconds it took go elsewhere."""
        assert self._metrics is not None
        assert self._timing is not None
        assert self._events is not None
        _append(self._metrics, {"iteration": iteration, **metrics})
        _append(self._timing, dict(zip(layout.TIMING_COLUMNS, (iteration, metrics["steps"], round(seconds, 4)))))
        finite = {name: value for name, value in metrics.items() if name != "steps" and math.isfinite(value)}
        self._events.add(int(metrics["steps"]), finite)

    def save(self, iteration: int, state: Any, collector: dict[str, Any]) -> None:
        """A checkpoint after `iteration` iterations."""
        if self._events is not None:
            self._events.flush()
        checkpoint.save(self.checkpoints, iteration, state, collector, self.identity)

    def snapshot(self, iteration: int, tree: Any) -> None:
        """What the analyses will need of the run after `iteration` iterations."""
        folder = self.path / layout.SNAPSHOTS
        folder.mkdir(exist_ok=True)
        arrays = checkpoint.flatten(tree, "")
        save_arrays(folder / f"{iteration:08d}.npz", arrays, {"iteration": iteration}, compress=True)

    def seconds_so_far(self) -> float:
        """How long the run took before it was resumed."""
        return layout.last_timing(self.path).get("seconds", 0.0)

    def finish(self, result: dict[str, Any]) -> None:
        """Mark the run as complete. Its last checkpoint stays, so that it can be given more steps."""
        write_json(self.path / layout.RESULT, result)
        for older in checkpoint.newest_first(self.checkpoints)[1:]:
            older.unlink(missing_ok=True)

    def extend(self, steps: int) -> "RunFolder":
        """The same run with more steps to go."""
        longer = replace(self.config, budget=replace(self.config.budget, steps=steps))
        write_json(self.path / layout.CONFIG, {"format": layout.FORMAT, **longer.to_json()})
        (self.path / layout.RESULT).unlink(missing_ok=True)
        return RunFolder(self.path, longer)

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
