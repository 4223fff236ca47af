"""What the documentation says of the committed runs is what they came to."""

import csv
import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "results" / "paper"


def test_the_page_of_results_has_the_table_of_the_committed_runs() -> None:
    table = runpy.run_path(str(ROOT / "tools" / "results_table.py"))["table"]()
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 16
    assert "\n".join(rows) in (ROOT / "docs" / "results.md").read_text()


def test_every_committed_run_is_whole() -> None:
    with (PAPER / "runs.csv").open(newline="") as stream:
        runs = list(csv.DictReader(stream))
    for run in runs:
        assert run["state"] == "finished"
        assert all(run[name] for name in ("return", "eval_return", "hours", "version")), run["run"]
        assert int(run["steps"]) >= (100_000 if run["method"] == "transfer" else 5_000_000)
        assert 0 <= int(run["seed"]) < 8  # others are for development
        assert run["demo_return"] or run["method"] in ("ppo", "transfer")
