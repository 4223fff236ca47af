"""onlooker analyze: the paper's lower bound from finished runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker.commands.parse import parse
from onlooker.errors import UserError, printable
from onlooker.runs import layout


@dataclass(frozen=True)
class Analyze:
    """The lower bound E_expert[f] >= E_buffer[f] - L W1(expert, buffer) through training, for every finished I2L run
    that has a finished ppo run in the same physics beside it. Writes analysis.json into the run folders. What is broken
    is named and passed over."""

    results: Annotated[Path, tyro.conf.Positional]
    """A folder of run folders."""
    f_from: int | None = None
    """Take f from the snapshot of this iteration; the last one by default."""
    trust: bool = False
    """Import the code of environments and methods that the runs name."""


def run(argv: list[str]) -> int:
    """Analyse the runs of a folder."""
    args = parse(Analyze, argv, "onlooker analyze", Analyze.__doc__ or "")
    if not args.results.is_dir():
        raise UserError(f"{printable(str(args.results))} is no folder")
    from onlooker.analysis import analyze

    written = analyze(args.results, args.f_from, args.trust)
    if not written:
        raise UserError(f"{args.results} holds no finished i2l run with a finished ppo run in the same physics")
    for path in written:
        print(printable(f"{path / layout.ANALYSIS}"))
    return 0
