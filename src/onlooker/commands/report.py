"""onlooker report: tables and figures from run folders."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker.commands.parse import parse
from onlooker.errors import UserError
from onlooker.report import load, pack


@dataclass(frozen=True)
class Report:
    """One page, tables and figures from all runs in a folder, finished or not."""

    results: Annotated[Path, tyro.conf.Positional]
    """A folder with run folders in it, at any depth, or a packed one."""
    out: Path | None = None
    """Where the report goes; RESULTS/report by default."""
    pack: Path | None = None
    """Write the runs as a small folder here, and no report: runs.csv, thinned curves, configs. What is packed there
    already stays."""


def run(argv: list[str]) -> int:
    """Write a report, or pack the runs."""
    args = parse(Report, argv, "onlooker report", Report.__doc__ or "")
    if args.pack is not None:
        if args.out is not None:
            raise UserError("choose one of --out and --pack")
        if args.pack.resolve() == args.results.resolve():
            raise UserError(f"--pack {args.pack} is the folder that is read; choose another")
        runs = load(args.results, skip=args.pack)
        print(f"{pack(runs, args.pack)} runs are packed in {args.pack}")
        return 0
    from onlooker.report.build import build
    from onlooker.report.surroundings import counts

    runs = load(args.results)
    say = (lambda line: print(line, file=sys.stderr)) if sys.stderr.isatty() else (lambda line: None)
    written = build(runs, args.out or args.results / "report", say)
    print(f"{counts(runs)}\nthe report is {written}")
    return 0
