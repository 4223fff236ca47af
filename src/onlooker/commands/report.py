"""onlooker report: tables and figures from run folders."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker.commands.parse import parse
from onlooker.errors import UserError, printable
from onlooker.report import Run, load, pack

MOST_NAMED = 20  # unreadable runs, on the terminal


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
    watch: bool = False
    """Follow runs that are going on, or about to: a live page with curves, time left and films as they come, until all
    are over. Then the report is written."""


def run(argv: list[str]) -> int:
    """Write a report, or pack the runs."""
    args = parse(Report, argv, "onlooker report", Report.__doc__ or "")
    if args.pack is not None:
        if args.watch:
            raise UserError("choose one of --watch and --pack")
        if args.out is not None:
            raise UserError("choose one of --out and --pack")
        if os.path.realpath(args.pack) == os.path.realpath(args.results):
            raise UserError(f"--pack {args.pack} is the folder that is read; choose another")
        runs = load(args.results, skip=args.pack)
        _name_unreadable(runs)
        print(printable(f"{pack(runs, args.pack)} runs are packed in {args.pack}"))
        return 0
    from onlooker.report.build import build
    from onlooker.report.inventory import counts
    from onlooker.report.watch import watch

    out = args.out or args.results / "report"
    say = (lambda line: print(line, file=sys.stderr)) if sys.stderr.isatty() else (lambda line: None)
    if args.watch:
        _name_unreadable(watch(args.results, out, lambda line: print(line, flush=True), say))
        return 0
    runs = load(args.results)
    _name_unreadable(runs)
    written = build(runs, out, say)
    print(f"{counts(runs)}\nthe report is {printable(str(written))}")
    return 0


def _name_unreadable(runs: list[Run]) -> None:
    """Say which runs are left out, and why; the page has them all."""
    lines = [f"left out {run.name}: {run.note}" for run in runs if run.state == "unreadable"]
    for line in lines[:MOST_NAMED] + [f"and {len(lines) - MOST_NAMED} more"] * (len(lines) > MOST_NAMED):
        print(line, file=sys.stderr)
