"""Many runs from one small file: a TOML grid expands into cells, each a run folder that can be resumed.

[defaults]                # settings of every cell
steps = 5e6
[[cells]]                 # each table is a product: lists multiply
method = ["i2l", "ppo"]
env = ["HalfCheetah-v5", "Hopper-v5"]
seed = [0, 1]
ppo = { epochs = 10 }     # options of a method's part, as in --ppo.epochs 10
"""

import itertools
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from onlooker import config
from onlooker.config import Config
from onlooker.errors import UserError, nearest
from onlooker.runs import RunFolder
from onlooker.start import begin, folder_name

RETRIES = 2  # a cell whose process dies is resumed this often


class Cell(NamedTuple):
    """One run of a grid."""

    name: str  # of its folder
    config: Config


def read(path: Path) -> list[Cell]:
    """The cells of a grid file, all checked."""
    try:
        data = tomllib.loads(Path(path).read_text())
    except OSError as failure:
        raise UserError(f"can't read the grid file {path}: {failure.strerror}") from failure
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise UserError(f"{path}: {failure}") from failure
    for key in data:
        if key not in ("defaults", "cells"):
            raise UserError(f"{path}: unknown table {key!r}{nearest(key, ('defaults', 'cells'))}")
    cells: list[Cell] = []
    for number, table in enumerate(data.get("cells", []), 1):
        merged = {**data.get("defaults", {}), **table}
        label = merged.pop("label", "")
        lists = {key: value if isinstance(value, list) else [value] for key, value in merged.items()}
        for values in itertools.product(*lists.values()):
            settings = dict(zip(lists, values))
            try:
                made = config.make(settings.pop("method", None) or "", **settings)
            except UserError as failure:
                raise UserError(f"{path}, cells table {number}: {failure}") from failure
            cells.append(Cell(folder_name(made) + (f"-{label}" if label else ""), made))
    if not cells:
        raise UserError(f"{path} holds no [[cells]]")
    names = [cell.name for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: two cells are both named {name}; give their tables a label each")
    return cells


def prepare(cell: Cell, out: Path) -> RunFolder:
    """The cell's run folder: begun now, or as it was left. A folder with another config is refused."""
    path = out / cell.name
    if not (path / "config.json").exists():
        return begin(cell.config, path)
    folder = RunFolder.open(path)
    if folder.config != cell.config:
        raise UserError(f"{path} was begun with other settings than the grid has now; choose another --out")
    return folder


def run(cells: list[Cell], out: Path, jobs: int, say: Callable[[str], None]) -> list[str]:
    """Run every cell that is not finished, `jobs` at a time, one core each; the names of those that failed."""
    waiting = [cell for cell in cells if not prepare(cell, out).finished]
    say(f"{len(cells)} cells, {len(cells) - len(waiting)} already finished")
    running: dict[str, tuple[Cell, subprocess.Popen]] = {}
    tries: dict[str, int] = {}
    failed: list[str] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop(0)
                tries[cell.name] = tries.get(cell.name, 0) + 1
                running[cell.name] = cell, _start(out / cell.name)
                say(f"{cell.name}: started")
            time.sleep(0.2)
            for name, (cell, process) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[name]
                if RunFolder.open(out / name).finished:
                    say(f"{name}: finished")
                elif tries[name] <= RETRIES:
                    waiting.append(cell)
                    say(f"{name}: its process ended with code {process.returncode}; going on from its checkpoint")
                else:
                    failed.append(name)
                    say(f"{name}: failed; see {out / name / 'log.txt'}")
    finally:
        for _, process in running.values():
            process.terminate()  # saves and ends
        for _, process in running.values():
            process.wait()
    return failed


def _start(path: Path) -> subprocess.Popen:
    """A process of its own that goes on with the run in `path`, on one thread."""
    one_thread: dict[str, Any] = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    command = [sys.executable, "-m", "onlooker", "train", "--resume", str(path), "--threads", "1"]
    with (path / "log.txt").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | one_thread | {"XLA_FLAGS": flags})
