"""The table of docs/results.md, from the runs in results/paper with their methods' usual options.

python tools/results_table.py
"""

from pathlib import Path

from onlooker.report import load
from onlooker.report.comparisons import summary
from onlooker.report.tables import markdown
from onlooker.report.variants import groups

RUNS = Path(__file__).parent.parent / "results" / "paper"
METHODS = ("i2l", "gail-s", "gaifo", "bco", "ppo", "transfer")


def table() -> str:
    """It, in Markdown."""
    usual = [group for group in groups(load(RUNS)) if group.method in METHODS and not group.variant]
    return markdown(summary(usual))


if __name__ == "__main__":
    print(table())
