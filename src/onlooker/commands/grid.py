"""onlooker grid: many runs from one file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker import grid
from onlooker.commands.parse import parse
from onlooker.errors import UserError


@dataclass(frozen=True)
class Grid:
    """Run every cell of a grid file. The same command again does only what is missing, from its checkpoints."""

    file: Annotated[Path, tyro.conf.Positional]
    """A grid file; those in grids/ are examples."""
    out: Path = Path("results")
    """Where the run folders go."""
    jobs: int = 0
    """Runs at a time, one core each; 0: as many as there are cores."""
    dry_run: bool = False
    """Only list the cells."""


def run(argv: list[str]) -> int:
    """Run a grid."""
    args = parse(Grid, argv, "onlooker grid", Grid.__doc__ or "")
    if args.jobs < 0:
        raise UserError(f"--jobs must be 0 (one a core) or more, not {args.jobs}")
    cells = grid.read(args.file)
    if args.dry_run:
        for cell in cells:
            print(f"{cell.name}: {cell.config.budget.steps:,} steps")
        return 0
    failed = grid.run(cells, args.out, args.jobs or os.cpu_count() or 1, lambda line: print(line, flush=True))
    if failed:
        raise UserError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}")
    return 0
