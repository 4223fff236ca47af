"""The tables of docs/results.md, from packed runs with their methods' usual options.

python tools/results_table.py                      # results/paper
python tools/results_table.py results/sixteen      # what there is with today's defaults, and how soon
"""

import sys
from pathlib import Path

from onlooker.report import load
from onlooker.report.comparisons import summary
from onlooker.report.sooner import how_soon
from onlooker.report.tables import markdown
from onlooker.report.variants import Group, groups

ROOT = Path(__file__).parent.parent
METHODS = ("i2l", "gail-s", "gaifo", "bco", "ppo", "transfer")


def table(runs: Path = ROOT / "results" / "paper") -> str:
    """Returns beside the paper's, in Markdown."""
    return markdown(summary(_usual(runs)))


def soon(runs: Path) -> str:
    """How soon the paper's returns were reached, in Markdown."""
    return markdown(how_soon(_usual(runs)))


def _usual(runs: Path) -> list[Group]:
    return [group for group in groups(load(runs)) if group.method in METHODS and not group.variant]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(table())
    for folder in map(Path, sys.argv[1:]):
        print(table(folder))
        print(soon(folder))
