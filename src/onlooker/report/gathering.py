"""All runs under a folder, as run folders or packed."""

import json
import os
from pathlib import Path

from onlooker.errors import UserError
from onlooker.report.entry import ROWS, Run
from onlooker.report.output import is_report
from onlooker.report.packed import is_packed, unpack
from onlooker.report.reading import read_run
from onlooker.report.variants import named
from onlooker.report.worlds import natural

RUN = {"config.json", "metrics.csv", "result.json"}  # a folder with any of these is a run's
GRID = "grid.json"  # which cells a grid was asked for


def load(results: str | Path, rows: int = ROWS, skip: Path | None = None) -> list[Run]:
    """Every run under `results`, its curve in at most `rows` rows. Nothing is dropped: see each run's state."""
    results = Path(results)
    if not results.is_dir():
        raise UserError(f"there is no folder {results}")
    runs: dict[str, Run] = {}
    cells: list[str] = []
    for folder, files in _walk(results, skip):
        name = "" if folder == results else folder.relative_to(results).as_posix()
        if is_packed(folder):
            runs |= {run.name: run for run in unpack(folder, f"{name}/" if name else "", rows)}
        elif RUN & files:
            name = name or folder.resolve().name
            runs[name] = read_run(folder, name, rows)
        if GRID in files:
            cells += [f"{name}/{cell}" if name else cell for cell in _cells(folder / GRID)]
    if not runs:
        raise UserError(f"there are no runs in {results}")
    for cell in cells:
        runs.setdefault(cell, Run(cell, "missing", "a cell of the grid that was never begun"))
    return named([runs[name] for name in sorted(runs, key=natural)])


def _walk(results: Path, skip: Path | None) -> list[tuple[Path, set[str]]]:
    """Folders with the names in them; not what lies inside runs, reports and hidden folders."""
    found, seen = [], {skip.resolve()} if skip else set()
    for here, folders, files in os.walk(results, followlinks=True):
        folder = Path(here)
        inner = RUN & set(files)
        fresh = folder.resolve() not in seen and not is_report(folder)
        seen.add(folder.resolve())
        folders[:] = [] if inner or not fresh else sorted(name for name in folders if not name.startswith("."))
        if fresh:
            found.append((folder, set(files)))
    return found


def _cells(path: Path) -> list[str]:
    try:
        cells = json.loads(path.read_bytes())["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [cell for cell in cells if isinstance(cell, str)] if isinstance(cells, list) else []
