"""onlooker grid: many runs from one file."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from onlooker.commands.parse import parse
from onlooker.errors import UserError
from onlooker.grid import fleet, hours, plan
from onlooker.grid.fleet import Overview
from onlooker.grid.plan import Cell
from onlooker.report import load
from onlooker.runs.layout import completed

QUIET_SECONDS = 60.0  # between two plain lines


@dataclass(frozen=True)
class Grid:
    """Run every cell of a grid file. The same command again does only what is missing, from its checkpoints."""

    file: Annotated[Path, tyro.conf.Positional]
    """A grid file; those in grids/ are examples."""
    out: Path = Path("results")
    """Where the run folders go."""
    packed: Path | None = None
    """Leave out what is finished with the same settings in this folder, packed by `onlooker report --pack`: a long grid
    goes on where its run folders are not."""
    jobs: int = 0
    """Runs at a time on this machine, one core each; 0: as many as there are cores."""
    address: str = ""
    """Join the Ray cluster at this address (HOST:PORT, or auto) instead of starting Ray here."""
    fetch: bool = False
    """The cluster's machines share no folder: each runs in one of its own, and finished runs are fetched."""
    retries: int = 2
    """How often a cell that fails, or whose process dies, goes on from its checkpoint."""
    trust: bool = False
    """Import code that the file names (env = "module:factory", method = "module:Class"). Only for files you know."""
    dry_run: bool = False
    """Only list the cells, their steps, and about how long they take. Imports no code that the file names."""


def run(argv: list[str]) -> int:
    """Run a grid."""
    args = parse(Grid, argv, "onlooker grid", Grid.__doc__ or "")
    for name in ("jobs", "retries"):
        if getattr(args, name) < 0:
            raise UserError(f"--{name} must be 0 or more, not {getattr(args, name)}")
    if args.address and args.jobs:
        raise UserError("--jobs is for this machine alone; with --address the cluster's cores count")
    cells = plan.read(args.file, args.trust, args.dry_run)
    if args.packed is not None:
        asked = len(cells)
        cells = _not_packed(cells, args.packed)
        print(f"{asked - len(cells)} of {asked} cells are finished in {args.packed}", flush=True)
        if not cells:
            return 0
    if args.dry_run:
        return _dry_run(cells, args)
    with Board(cells, args.out) as board:
        failed = fleet.run(cells, args.out, board.show, args.jobs, args.address, args.retries, args.fetch)
    if failed:
        first, error = next(iter(failed.items()))
        raise UserError(f"{len(failed)} of {len(cells)} cells failed; {first}: {error} (see its log.txt)")
    return 0


def _not_packed(cells: list[Cell], packed: Path) -> list[Cell]:
    """The cells of which the folder has no finished run with the same name, settings and version. An option that came
    after that run counts as what the run did."""
    done = {Path(run.name).name: completed(run.config) for run in load(packed) if run.state == "finished"}

    def same(cell: Cell) -> bool:
        settings = completed(json.loads(json.dumps(cell.config.to_json())))
        there = done.get(cell.name, {})
        return all(there.get(part) == value for part, value in settings.items())

    return [cell for cell in cells if not same(cell)]


def _dry_run(cells: list[Cell], args: Grid) -> int:
    paces = hours.Paces(args.out)
    needed = {cell.name: paces.seconds_left(cell, args.out) for cell in cells}
    for cell in cells:
        seconds = needed[cell.name]
        state = f"about {hours.spoken(seconds)}" if seconds else "finished"
        print(f"{cell.name}: {cell.config.budget.steps:,} steps, {state}")
    total = sum(needed.values())
    told = f"{len(cells)} cell{'s' * (len(cells) > 1)}, about {hours.spoken(total)} on one core"
    cores = min(args.jobs or hours.cores(), sum(seconds > 0 for seconds in needed.values()))
    if cores > 1 and not args.address:  # how many a cluster has, only it knows
        told += f", {hours.spoken(max(total / cores, *needed.values()))} on {cores}"
    print(f"{told}; {paces.source}")
    unseen = plan.import_paths(cells)
    if unseen:
        print(f"not imported, so not checked: {', '.join(unseen)}")
    return 0


class Board:
    """What the user sees while a grid runs: a table on a terminal, plain lines elsewhere."""

    def __init__(self, cells: list[Cell], out: Path) -> None:
        self._cells, self._out = {cell.name: cell for cell in cells}, out
        self._live = Live(console=Console(), refresh_per_second=2) if sys.stdout.isatty() else None
        self._spoke = 0.0
        self._began = time.monotonic()
        self._first_left: float | None = None

    def __enter__(self) -> "Board":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, now: Overview) -> None:
        """Bring it up to date."""
        if self._live is not None:
            if now.news:
                self._live.console.print(now.news, highlight=False, markup=False)
            self._live.update(self._table(now))
            return
        if now.news:
            print(now.news, flush=True)
        if time.monotonic() - self._spoke > QUIET_SECONDS and now.running:
            self._spoke = time.monotonic()
            print(self._summary(now), flush=True)

    def _summary(self, now: Overview) -> str:
        left = sum(hours.steps_left(self._cells[name], self._out) for name in (*now.running, *now.waiting))
        if self._first_left is None:
            self._first_left = left
        rate = (self._first_left - left) / (time.monotonic() - self._began)
        eta = hours.spoken(left / rate) if rate > 0 else "-"
        return (
            f"{len(now.finished)} finished, {len(now.running)} running, {len(now.waiting)} waiting, "
            f"{len(now.failed)} failed; {rate:,.0f} steps/s, ETA {eta}"
        )

    def _table(self, now: Overview) -> Table:
        table = Table("cell", "steps", "of", title=self._summary(now), title_justify="left")
        for name in now.running:
            total = self._cells[name].config.budget.steps
            table.add_row(name, f"{total - hours.steps_left(self._cells[name], self._out):,}", f"{total:,}")
        for name, error in now.failed.items():
            table.add_row(name, "failed", Text(error))  # in which brackets mean nothing
        return table
