"""Runs while they go on: what of a folder changed since the last look is read, the rest is kept."""

import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onlooker.errors import UserError, printable
from onlooker.report.entry import ROWS, Run
from onlooker.report.gallery import SUFFIXES
from onlooker.report.gathering import gather
from onlooker.report.growing import Growing
from onlooker.report.packed import is_packed, unpack
from onlooker.report.reading import Table, read_run
from onlooker.report.remaining import recent_rate, whole_steps
from onlooker.runs.layout import ANALYSIS, CONFIG, LOCK, LOG, METRICS, RESULT, TIMING

QUIET = 120.0  # seconds without news, after which nobody seems to be working on a run
QUIET_START = 300.0  # the same before the first iteration, which compiles
QUIET_ITERATIONS = 10  # or as long as so many of its iterations, if that is longer
FILES = (CONFIG, METRICS, TIMING, RESULT, LOG, ANALYSIS, LOCK)
STATUSES = ("running", "starting", "waiting", "quiet", "failed", "unreadable", "finished", "duplicate")


class Mark(NamedTuple):
    """By which a file's change is noticed."""

    size: int
    changed: int  # nanoseconds


@dataclass(frozen=True, eq=False)
class Followed:
    """A run, and how it stands now."""

    run: Run
    status: str
    """running; starting (no iteration is done yet); waiting (not begun); quiet (begun, but nothing came for minutes);
    failed, unreadable, finished or duplicate."""
    total: int | None = None
    """Steps that it will have made in the end; none where that is not known."""
    rate: float = float("nan")
    """Steps a second of late."""
    changed: float = 0.0
    """When one of its files last changed, in seconds since 1970; 0 where there is none."""
    films: dict[str, Mark] = field(default_factory=dict)
    """By file name."""


class _Kept(NamedTuple):
    files: dict[str, Mark]
    run: Run
    tables: dict[str, Growing]
    rate: float  # steps a second of late
    iteration: float  # seconds of the last one


class Following:
    """All runs under a folder, look by look."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._kept: dict[Path, _Kept] = {}
        self._packed: dict[Path, tuple[dict[str, Mark], list[Run]]] = {}
        self._seen: set[Path] = set()

    def look(self) -> list[Followed]:
        """How all runs stand; none where none has begun, nor a grid been laid out."""
        if not os.path.lexists(self._results):
            return []
        if not self._results.is_dir():
            raise UserError(f"{printable(str(self._results))} is no folder")
        if is_packed(self._results):
            raise UserError(f"{printable(str(self._results))} is a packed folder: nothing in it goes on")
        self._seen = set()
        runs = gather(self._results, ROWS, None, self._read, self._unpack)
        self._kept = {folder: kept for folder, kept in self._kept.items() if folder in self._seen}
        now = time.time()
        return [self._stands(run, now) for run in runs]

    def _read(self, folder: Path, name: str, rows: int) -> Run:
        self._seen.add(folder)
        files, before = _marks(folder), self._kept.get(folder)
        if before is not None and before.files == files:
            return before.run
        tables = before.tables if before is not None else {}
        timing: dict[str, np.ndarray] = {}

        def read(path: Path, wanted: tuple[str, ...]) -> Table:
            found = tables.setdefault(path.name, Growing(path, wanted)).read()
            timing.update(found.columns if path.name == TIMING else {})
            return found

        run = read_run(folder, name, rows, read)
        steps, seconds = (timing.get(column, np.zeros(0)) for column in ("steps", "seconds"))
        last = float(seconds[-1] - seconds[-2]) if len(seconds) > 1 else 0.0
        growing = {} if run.state == "finished" else tables
        self._kept[folder] = _Kept(files, run, growing, recent_rate(steps, seconds), last)
        return run

    def _unpack(self, folder: Path, above: str, rows: int) -> list[Run]:
        files = _marks(folder, every=True)
        if self._packed.get(folder, ({}, []))[0] != files:
            self._packed[folder] = files, unpack(folder, above, rows)
        return self._packed[folder][1]

    def _stands(self, run: Run, now: float) -> Followed:
        kept = self._kept.get(run.folder) if run.folder is not None else None
        total = whole_steps(run.config) if run.config else None
        if kept is None:  # a cell that has no folder yet, or a packed run
            status = {"missing": "waiting", "unfinished": "quiet"}.get(run.state, run.state)
            return Followed(run, status, total, run["steps_per_second"])
        files = kept.files
        changed = max((mark.changed for mark in files.values()), default=0) / 1e9
        films = {name: mark for name, mark in files.items() if name.endswith(SUFFIXES)}
        rate = run["steps_per_second"] if run.state == "finished" else kept.rate
        patience = max(QUIET, QUIET_ITERATIONS * kept.iteration) if run.steps else QUIET_START
        status = _status(run, files, now - changed > patience)
        return Followed(run, status, total, rate, changed, films)


def _status(run: Run, files: dict[str, Mark], quiet: bool) -> str:
    going_on = METRICS in files and LOG in files and files[METRICS].changed > files[LOG].changed
    if run.state not in ("unfinished", "failed") or (run.state == "failed" and not going_on):
        return run.state
    if not files.keys() & {METRICS, LOCK, LOG}:
        return "waiting"
    if quiet:
        return "quiet"
    return "running" if run.steps else "starting"


def _marks(folder: Path, every: bool = False) -> dict[str, Mark]:
    """The files of a run that a page shows something of, or every file."""
    found = {}
    try:
        names = os.listdir(folder)
    except OSError:  # it went away under our hands: the next look shows what is left
        names = []
    for name in names:
        if every or name in FILES or name.endswith(SUFFIXES):
            try:
                about = os.stat(os.path.join(folder, name))
            except OSError:  # a link that leads nowhere
                continue
            if stat.S_ISREG(about.st_mode):
                found[name] = Mark(about.st_size, about.st_mtime_ns)
    return found
