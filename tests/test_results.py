"""What the documentation says of the committed runs is what they came to."""

import csv
import re
import runpy
from pathlib import Path

import pytest
from test_report_runs import make_run

from onlooker.report import load
from onlooker.report.variants import groups

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
TABLES = runpy.run_path(str(ROOT / "tools" / "results_table.py"))


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("README.md", {"glance of sixteen", "told of sixteen", "rivals of sixteen"}),
        (
            "docs/results.md",
            {"told of sixteen", "seeds of sixteen", "soon of sixteen"}
            | {"rivals of sixteen", "summary of sixteen", "summary of paper"},
        ),
    ],
)
def test_a_page_has_the_numbers_of_the_committed_runs(page: str, wanted: set[str]) -> None:
    text = (ROOT / page).read_text()
    assert {f"{name} of {folder}" for name, folder in TABLES["MARK"].findall(text)} == wanted
    assert TABLES["filled"](text) == text


def test_a_changed_number_is_written_anew() -> None:
    text = (ROOT / "README.md").read_text()
    at = text.index("(5,240)")
    assert TABLES["filled"](text[:at] + "(5,241)" + text[at + 7 :]) == text


def test_the_first_page_tells_what_its_table_shows() -> None:
    text = (ROOT / "README.md").read_text()
    cells = re.findall(r"(\*\*)?([\d,]+)(?:\*\*)? \(([\d,]+)\)", text)
    returns = [(float(ours.replace(",", "")), float(theirs.replace(",", ""))) for _, ours, theirs in cells]
    assert len(returns) == 16
    assert f"below in {sum(bool(bold) for bold, *_ in cells)} " in text.replace(".**", " ")
    assert f"1.3 times the paper's mean in {sum(ours >= 1.3 * theirs for ours, theirs in returns)}." in text


def test_ahead_is_counted_where_both_were_run_under_other_physics(tmp_path: Path) -> None:
    returns = {
        ("i2l", "low-gravity"): [1000.0, 3000.0],
        ("gail-s", "low-gravity"): [1500.0],
        ("gaifo", "low-gravity"): [2500.0],
        ("i2l", "high-density"): [500.0],
        ("gail-s", "high-density"): [500.0],
        ("i2l", "high-friction"): [9000.0],
        ("i2l", "none"): [1.0],
        ("gaifo", "none"): [2.0],
    }
    for (method, dynamics), values in returns.items():
        for seed, ret in enumerate(values):
            make_run(tmp_path / f"{method}-{dynamics}-{seed}", method, dynamics=dynamics, seed=seed, ret=ret)
    assert TABLES["against_rivals"](groups(load(tmp_path))) == (
        "- Ahead of **GAIL-S** in 1 of 2 changed worlds by the mean (not in Hopper high-density); "
        "above it in 0, level in 2, below in 0.\n"
        "- Ahead of **GAIfO** in 0 of 1 changed worlds by the mean (not in Hopper low-gravity); "
        "above it in 0, level in 1, below in 0.\n"
    )


def test_the_release_stands_beside_the_defaults_and_is_counted_nowhere(tmp_path: Path) -> None:
    make_run(tmp_path / "i2l-Hopper-v5-s0", ret=3000.0)
    make_run(tmp_path / "i2l-Hopper-v5-s1", seed=1, ret=3200.0)
    make_run(tmp_path / "i2l-Ant-v5-s0", env="Ant-v5", ret=2.0)
    make_run(tmp_path / "gail-s-Hopper-v5-s0", "gail-s", ret=2000.0)
    make_run(tmp_path / "i2l-Hopper-v5-s0-release", ret=1000.0, options={"elite": {"capacity": 6}})
    make_run(tmp_path / "i2l-Hopper-v5-s0-k1", ret=1.0, options={"elite": {"capacity": 1}})
    shown = TABLES["_shown"](groups(load(tmp_path)))
    assert [group.label for group in shown] == ["I2L", "I2L, release", "GAIL-S", "I2L"]
    assert TABLES["against_rivals"](shown) == (
        "- Ahead of **GAIL-S** in 1 of 1 changed worlds by the mean; above it in 1, level in 0, below in 0.\n"
    )
    table = TABLES["WRITERS"]["summary"](shown)
    assert table.startswith("| dynamics | robot | I2L | I2L, release | GAIL-S |")
    assert "| 3,100 (paper 2,566, above) | 1,000 (paper 2,566, below) | 2,000 |" in table
    assert "| 2 of 2 |" in TABLES["WRITERS"]["soon"](shown)
    assert "1,000" not in TABLES["WRITERS"]["seeds"](shown)


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
