"""All runs under a folder, as run folders or packed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from onlooker.errors import UserError, printable
from onlooker.report.entry import ROWS, Run
from onlooker.report.intake import Unreadable, clean, read_object
from onlooker.report.output import MARK as REPORT
from onlooker.report.output import is_report
from onlooker.report.packed import MARK as PACKED
from onlooker.report.packed import is_packed, unpack
from onlooker.report.reading import read_run
from onlooker.report.variants import named
from onlooker.report.world_names import natural
from onlooker.runs.layout import GRID, RUN_FILES


def load(results: str | Path, rows: int = ROWS, skip: Path | None = None) -> list[Run]:
    """Every run under `results`, its curve in at most `rows` rows. Nothing is dropped: see each run's state."""
    results = Path(results)
    if not results.is_dir():
        raise UserError(f"there is no folder {printable(str(results))}")
    runs = gather(results, rows, skip)
    if all(run.state == "missing" for run in runs):
        raise UserError(f"there are no runs in {printable(str(results))}")
    return runs


def gather(
    results: Path,
    rows: int = ROWS,
    skip: Path | None = None,
    read: Callable[[Path, str, int], Run] = read_run,
    unpacked: Callable[[Path, str, int], list[Run]] = unpack,
) -> list[Run]:
    """Every run under a folder, if there are any. `read` reads a run folder, `unpacked` a packed one."""
    runs: dict[str, Run] = {}
    cells: list[str] = []
    for folder, files, failure in _walk(results, skip):
        name = "" if folder == results else printable(folder.relative_to(results).as_posix())
        below = f"{name}/" if name else ""
        if failure:
            runs[name or "."] = Run(name or ".", "unreadable", failure)
        elif PACKED in files and is_packed(folder):
            try:
                runs |= {run.name: run for run in unpacked(folder, below, rows)}
            except Unreadable as refused:
                said = f"no packed folder that can be read: {refused}"
                if folder == results:
                    raise UserError(printable(f"{results} is {said}")) from refused
                runs[name] = Run(name, "unreadable", clean(said))
        elif RUN_FILES & files:
            name = name or printable(os.path.basename(os.path.realpath(folder)))
            runs[name] = read(folder, name, rows)
        if GRID in files:
            try:
                cells += [below + cell for cell in _cells(folder / GRID)]
            except Unreadable as refused:
                runs[below + GRID] = Run(below + GRID, "unreadable", clean(str(refused)))
    for cell in cells:
        runs.setdefault(cell, Run(cell, "missing", "a cell of the grid that was never begun"))
    return named([runs[name] for name in sorted(runs, key=natural)])


def _walk(results: Path, skip: Path | None) -> Iterator[tuple[Path, set[str], str]]:
    """Folders, the names in them that are no folders, and why one can't be read.

    What lies inside runs, reports and hidden folders is passed over, and so is a folder that was seen under another
    name: links may lead in a circle.
    """
    waiting, seen = [results], {_identity(skip)} if skip and skip.exists() else set()
    while waiting:
        folder = waiting.pop()
        try:
            identity = _identity(folder)
            with os.scandir(folder) as entries:
                # A link to itself is no folder: `entry.is_dir` would fail on it.
                is_folder = {e.name: os.path.isdir(e) if e.is_symlink() else e.is_dir() for e in entries}
        except OSError as failure:
            yield folder, set(), f"can't read the folder: {failure.strerror}"
            continue
        if identity in seen or (REPORT in is_folder and is_report(folder)):
            continue
        seen.add(identity)
        files = {name for name, inner in is_folder.items() if not inner}
        yield folder, files, ""
        if not RUN_FILES & files:
            folders = sorted(is_folder.keys() - files, reverse=True)
            waiting += [folder / name for name in folders if not name.startswith(".")]


def _identity(folder: Path) -> tuple[int, int]:
    about = folder.stat()
    return about.st_dev, about.st_ino


def _cells(path: Path) -> list[str]:
    """The names of a grid's cells."""
    cells = read_object(path).get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        raise Unreadable(f"{path.name} names no cells")
    return cells
