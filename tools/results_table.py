"""The tables of docs/results.md, from packed runs with their methods' usual options.

python tools/results_table.py                      # results/paper
python tools/results_table.py results/sixteen      # what there is with today's defaults, and how soon
"""

import sys
from pathlib import Path

from onlooker.report import load
from onlooker.report.comparisons import summary
from onlooker.report.paper import RETURNS, verdict
from onlooker.report.sooner import how_soon
from onlooker.report.tables import markdown, shown
from onlooker.report.variants import Group, groups
from onlooker.report.world_names import robot

ROOT = Path(__file__).parent.parent
METHODS = ("i2l", "gail-s", "gaifo", "bco", "ppo", "transfer")


def table(runs: Path = ROOT / "results" / "paper") -> str:
    """Returns beside the paper's, in Markdown."""
    return markdown(summary(_usual(runs)))


def soon(runs: Path) -> str:
    """How soon the paper's returns were reached, in Markdown."""
    return markdown(how_soon(_usual(runs)))


def glance(runs: Path) -> str:
    """I2L alone, robots down and dynamics across, for README: its mean return and the paper's."""
    ours = [group for group in _usual(runs) if group.method == "i2l"]
    found = {(robot(group.env), group.dynamics): group.values("return") for group in ours}
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        cells = []
        for dynamics in RETURNS:
            returns, theirs = found[name, dynamics], RETURNS[dynamics]["i2l"][name]
            bold = "**" * (verdict(returns, theirs) == "below")
            cells.append(f"{bold}{shown(float(returns.mean()), 'return')}{bold} ({shown(theirs, 'return')})")
        rows.append(f"| {' | '.join([name, *cells])} |")
    head = ["", *(name.replace("-", " ") for name in RETURNS)]
    return "\n".join([f"|{' | '.join(head)} |", "|---" * len(head) + "|", *rows]) + "\n"


def _usual(runs: Path) -> list[Group]:
    return [group for group in groups(load(runs)) if group.method in METHODS and not group.variant]


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(table())
    for folder in map(Path, sys.argv[1:]):
        print(table(folder))
        print(soon(folder))
        print(glance(folder))
