"""What the documentation says of the committed runs is what they came to."""

import csv
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
TABLES = runpy.run_path(str(ROOT / "tools" / "results_table.py"))


def rows(table: str) -> list[str]:
    return [line for line in table.splitlines() if line.startswith("|")]


def test_the_page_of_results_has_the_tables_of_the_committed_runs() -> None:
    page = (ROOT / "docs" / "results.md").read_text()
    wide = rows(TABLES["table"]())
    assert len(wide) == 2 + 16
    newer = RESULTS / "sixteen"
    for table in (wide, rows(TABLES["table"](newer)), rows(TABLES["soon"](newer))):
        assert len(table) > 2
        assert "\n".join(table) in page


def test_the_first_page_has_the_table_of_the_committed_runs() -> None:
    table = rows(TABLES["glance"](RESULTS / "sixteen"))
    assert len(table) == 2 + 4
    assert "\n".join(table) in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("folder", ["paper", "sixteen"])
def test_every_committed_run_is_whole(folder: str) -> None:
    with (RESULTS / folder / "runs.csv").open(newline="") as stream:
        runs = list(csv.DictReader(stream))
    for run in runs:
        assert run["state"] == "finished"
        assert all(run[name] for name in ("return", "eval_return", "hours", "version")), run["run"]
        assert int(run["steps"]) >= (100_000 if run["method"] == "transfer" else 5_000_000)
        assert 0 <= int(run["seed"]) < 8  # others are for development
        assert run["demo_return"] or run["method"] in ("ppo", "transfer")
