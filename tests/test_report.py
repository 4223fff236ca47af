"""What a report says of runs: statistics, tables beside the paper's, figures' contents. Known answers, by hand."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_report_runs import BOUND, make_run

from onlooker.report import load
from onlooker.report.ablation import ablation_table, ablations
from onlooker.report.attainable import beside_oracle
from onlooker.report.comparisons import aggregates, dynamics_tables, probabilities, summary
from onlooker.report.inventory import attention, counts, coverage, speed
from onlooker.report.lower_bound import bounds, bounds_table
from onlooker.report.overview import bars
from onlooker.report.panels import capacity_curves, distances, learning_curves
from onlooker.report.paper import EXPERT, RETURNS, paper_return, verdict
from onlooker.report.sooner import how_soon, steps_until
from onlooker.report.statistics import beats, beats_interval, iqm, iqm_interval, mean_and_spread
from onlooker.report.sweeping import sweeps
from onlooker.report.tables import Beside, Column, Table, comma_separated, hypertext, markdown, shown
from onlooker.report.variants import groups


def records(table: Table) -> list[dict[str, Any]]:
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row)) for row in table.rows]


def test_iqm_leaves_out_a_quarter_at_either_end() -> None:
    assert iqm(np.array([100.0, 1, 2, 3, 4, 5, 6, -50])) == 3.5  # without -50 and 1, 6 and 100
    assert iqm(np.array([1.0, 2, 3, 4, 90])) == 3.0  # a quarter of 5, rounded down, is 1
    assert iqm(np.array([1.0, 2, 9])) == 4.0
    assert iqm(np.array([[1.0, 2, 3, 40], [0, 0, 0, 8]])).tolist() == [2.5, 0.0]


def test_bootstrap_intervals() -> None:
    values = np.array([10.0, 20, 30, 40, 50, 60, 70, 80])
    low, high = iqm_interval([values])
    assert 10 < low < iqm(values) < high < 80
    assert iqm_interval([values]) == (low, high)  # the draws are fixed
    assert iqm_interval([np.full(5, 3.0)]) == (3.0, 3.0)
    assert all(map(math.isnan, iqm_interval([np.array([3.0])])))
    shifted = iqm_interval([values + 100])
    assert shifted == pytest.approx((low + 100, high + 100))


def test_strata_are_drawn_apart() -> None:
    # Within each setting all seeds agree: however seeds are drawn there, the IQM is the same. Pooled, it would not be.
    low, high = iqm_interval([np.full(4, 1.0), np.full(4, 9.0)])
    assert low == high == 5.0


def test_two_seeds_give_the_interval_by_hand() -> None:
    # Draws of two are (0, 0), (0, 1), (1, 0), (1, 1), each a quarter: means 0, 0.5, 0.5, 1.
    assert iqm_interval([np.array([0.0, 1.0])]) == (0.0, 1.0)


def test_probability_of_improvement_by_hand() -> None:
    ours, theirs = np.array([1.0, 3.0, 5.0]), np.array([3.0, 4.0])
    # 1: no, no. 3: tie, no. 5: yes, yes. (0.5 + 2) / 6
    assert beats(ours, theirs) == pytest.approx(2.5 / 6)
    assert beats(theirs, ours) == pytest.approx(3.5 / 6)
    low, high = beats_interval([(ours, theirs)])
    assert 0 <= low < 2.5 / 6 < high <= 1
    assert all(map(math.isnan, beats_interval([(np.array([1.0]), np.array([2.0]))])))


def test_mean_and_spread() -> None:
    assert mean_and_spread(np.array([1.0, 3.0])) == (2.0, pytest.approx(math.sqrt(2)))
    assert mean_and_spread(np.array([1.0]))[0] == 1.0
    assert all(map(math.isnan, mean_and_spread(np.array([]))))


def test_the_papers_numbers() -> None:
    assert paper_return("i2l", "HalfCheetah", "low-gravity") == 4155
    assert paper_return("gail-s", "Hopper", "high-friction") == 810
    assert paper_return("gail-s", "Ant", "low-gravity") is None
    assert paper_return("ppo", "Ant", "none") is None
    assert EXPERT == {"Walker2d": 6200, "Hopper": 3700, "Ant": 4800, "HalfCheetah": 7500}
    sums = {(name, method): sum(r.values()) for name, rows in RETURNS.items() for method, r in rows.items()}
    assert sums == {
        ("none", "gail-s"): 15032,
        ("none", "gaifo"): 13777,
        ("none", "i2l"): 15418,
        ("low-gravity", "gaifo"): 6790,
        ("low-gravity", "i2l"): 11885,
        ("high-density", "gail-s"): 923,
        ("high-density", "gaifo"): 4251,
        ("high-density", "i2l"): 11281,
        ("high-friction", "gail-s"): 810,
        ("high-friction", "gaifo"): 7997,
        ("high-friction", "i2l"): 12608,
    }


def test_above_level_or_below_is_said_by_the_interval_of_the_seeds() -> None:
    def verdicts(paper: float, *seeds: list[float]) -> list[str]:
        return [verdict(np.array(values), paper) for values in seeds]

    # A single seed has no interval: within 5% is level.
    assert verdicts(1000, [949.0], [951.0], [1050.0], [1051.0]) == ["below", "level", "level", "above"]
    assert verdicts(-200, [-211.0], [-209.0], [-190.0], [-189.0]) == ["below", "level", "level", "above"]
    # Of two seeds the interval spans both, so a mean of twice the paper's is level where one seed fails.
    assert verdicts(1000, [900.0, 3100.0], [1001.0, 1002.0], [998.0, 999.0]) == ["level", "above", "below"]
    # Of four equal seeds the interval is a point, however close.
    assert verdicts(1000, [1001.0] * 4, [1000.0] * 4, [999.0] * 4) == ["above", "level", "below"]
    # Eight with one failure: the interquartile mean may hold it twice in a draw, but seldom more.
    assert verdicts(1000, [0.0] + [1500.0] * 7) == ["above"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """I2L with four seeds and GAIL-S with two on Hopper, one of each on Ant; PPO on Hopper."""
    for seed, ret in enumerate((2000.0, 2400.0, 2800.0, 4000.0)):
        make_run(tmp_path / f"i2l-{seed}", seed=seed, ret=ret)
    for seed, ret in enumerate((1000.0, 2600.0)):
        make_run(tmp_path / f"gail-s-{seed}", "gail-s", seed=seed, ret=ret)
    make_run(tmp_path / "ppo", "ppo", ret=3000.0)
    make_run(tmp_path / "i2l-ant", env="Ant-v5", ret=1000.0)
    make_run(tmp_path / "gail-s-ant", "gail-s", env="Ant-v5", ret=1500.0)
    return tmp_path


def test_the_share_of_the_oracle(small: Path) -> None:
    make_run(small / "gaifo", "gaifo", ret=3001.0)
    make_run(small / "transfer", "transfer", ret=9000.0)
    table = beside_oracle(groups(load(small)))
    # Ant has no oracle, and the expert's own policy imitates nothing.
    assert [(row["method"], row["return"], row["oracle"], row["share"], row["so"]) for row in records(table)] == [
        ("I2L", 2800.0, 3000.0, 2800 / 3000, "near it"),
        ("GAIL-S", 1800.0, 3000.0, 0.6, ""),
        ("GAIfO", 3001.0, 3000.0, 3001 / 3000, "ahead of it"),
    ]
    assert {(row["dynamics"], row["robot"]) for row in records(table)} == {("low-gravity", "Hopper")}


def test_the_full_table(small: Path) -> None:
    (table,) = dynamics_tables(groups(load(small)))
    rows = {(row["robot"], row["method"]): row for row in records(table)}
    assert list(rows)[:6] == [
        ("Hopper", "I2L"),
        ("Hopper", "GAIL-S"),
        ("Hopper", "PPO"),
        ("Hopper", "demonstration"),
        ("Hopper", "random actions"),
        ("Hopper", "zero actions"),
    ]
    ours = rows["Hopper", "I2L"]
    assert (ours["seeds"], ours["return"], ours["IQM"]) == (4, 2800.0, 2600.0)
    assert ours["deviation"] == pytest.approx(np.std([2000, 2400, 2800, 4000], ddof=1))
    assert ours["95% interval"] == iqm_interval([np.array([2000.0, 2400, 2800, 4000])])
    assert (ours["of demo"], ours["eval_return"], ours["eval of demo"]) == pytest.approx((0.7, 3080.0, 0.77))
    assert (ours["paper"], ours["difference"], ours["verdict"]) == (2566, 234.0, "level")
    assert (rows["Ant", "I2L"]["paper"], rows["Ant", "I2L"]["verdict"]) == (1617, "below")
    assert rows["Hopper", "GAIL-S"]["paper"] is None
    # PPO sees no demonstration: its fraction is of the one that the others saw.
    assert rows["Hopper", "PPO"]["of demo"] == 0.75
    assert (rows["Hopper", "demonstration"]["return"], rows["Hopper", "demonstration"]["paper"]) == (4000.0, 3700.0)
    assert rows["Hopper", "random actions"]["return"] == 20.25
    assert rows["Ant", "zero actions"]["return"] == -1.5


def test_how_soon_the_papers_return_is_reached(small: Path) -> None:
    # Ten rounds of 2048 steps, in a straight line to 2000, 2400, 2800 and 4000. The paper's 2,566 is reached by the
    # last two only: 2800 in round 10 (9 tenths are 2520), 4000 in round 7 (6 tenths are 2400).
    found = groups(load(small))
    hopper = next(group for group in found if (group.method, group.env) == ("i2l", "Hopper-v5"))
    assert [steps_until(run, 2566) for run in hopper.runs[2:]] == [10 * 2048, 7 * 2048]
    assert math.isnan(steps_until(hopper.runs[1], 2566))
    rows = {row["robot"]: row for row in records(how_soon(found))}
    assert set(rows) == {"Hopper", "Ant"}  # of GAIL-S in half the gravity, and of PPO, the paper states nothing
    assert rows["Hopper"]["seeds that reach it"] == "2 of 4"
    assert rows["Hopper"]["steps"] == 20_000  # 8.5 rounds, to the next ten thousand
    hours = hopper.runs[2]["hours"]
    assert rows["Hopper"]["minutes"] == pytest.approx(60 * hours * 0.85)
    assert (rows["Ant"]["seeds that reach it"], rows["Ant"]["steps"]) == ("0 of 1", None)


def test_a_demonstration_without_positive_return_gives_no_fractions(tmp_path: Path) -> None:
    make_run(tmp_path / "a", env="Pendulum-v1", ret=-200.0, result={"demo_return": -150.0})
    found = groups(load(tmp_path))
    (table,) = dynamics_tables(found)
    assert math.isnan(records(table)[0]["of demo"])
    assert aggregates(found).rows == []


def test_the_summary_puts_ours_beside_the_papers(small: Path) -> None:
    first, second = records(summary(groups(load(small))))
    assert (first["dynamics"], first["robot"], second["robot"]) == ("low-gravity", "Hopper", "Ant")
    assert first["I2L"] == Beside(2800.0, 2566, "level")
    assert first["GAIL-S"] == Beside(1800.0, None, "")
    assert first["PPO"].ours == 3000.0
    assert second["PPO"] is None
    assert (first["demonstration"], first["random actions"]) == (4000.0, 20.25)


def test_the_overview_shows_shares_of_the_demonstrations(small: Path) -> None:
    first, second, third, fourth = bars(groups(load(small)))  # PPO sees the true reward: it is none of them
    assert (first.dynamics, first.robot, first.method) == ("low-gravity", "Hopper", "i2l")
    assert first.seeds.tolist() == pytest.approx([0.5, 0.6, 0.7, 1.0])
    assert first.paper == 2566 / 3700
    assert (second.method, second.seeds.mean(), second.paper) == ("gail-s", pytest.approx(0.45), None)
    assert (third.robot, third.seeds.tolist(), third.paper) == ("Ant", [0.25], 1617 / 4800)
    assert (fourth.robot, fourth.method, fourth.seeds.tolist()) == ("Ant", "gail-s", [0.375])


def test_aggregates_are_fractions_over_settings(small: Path) -> None:
    rows = {(row["dynamics"], row["method"]): row for row in records(aggregates(groups(load(small))))}
    ours = rows["low-gravity", "I2L"]
    # 0.25, 0.5, 0.6, 0.7, 1.0: a quarter of five is one at either end.
    assert (ours["settings"], ours["runs"], ours["IQM of demo"]) == (2, 5, pytest.approx(0.6))
    strata = [np.array([0.5, 0.6, 0.7, 1.0]), np.array([0.25])]
    assert ours["95% interval"] == iqm_interval(strata)
    assert rows["all of these", "I2L"]["IQM of demo"] == ours["IQM of demo"]
    assert ("low-gravity", "PPO") not in rows  # one setting is no aggregate


def test_who_beats_whom(small: Path) -> None:
    rows = records(probabilities(groups(load(small))))
    against = {(row["baseline"], row["dynamics"], row["robot"]): row["probability"] for row in rows}
    # 2000 and 2400 beat 1000 alone; 2800 and 4000 beat both: 6 of 8 pairs. On Ant, 1000 against 1500.
    assert against["GAIL-S", "low-gravity", "Hopper"] == 0.75
    assert against["GAIL-S", "low-gravity", "Ant"] == 0.0
    assert against["GAIL-S", "mean", "2 settings"] == 0.375
    assert against["PPO", "low-gravity", "Hopper"] == 0.25


def test_unfinished_runs_are_counted_but_never_averaged(small: Path) -> None:
    make_run(small / "i2l-9", seed=9, ret=1e6, finished=False)
    runs = load(small)
    assert counts(runs) == "10 runs: 9 finished, 1 unfinished"
    (table,) = dynamics_tables(groups(runs))
    assert (records(table)[0]["seeds"], records(table)[0]["return"]) == (4, 2800.0)
    rows = {row["robot"]: row for row in records(coverage(groups(runs)))}
    assert (rows["Hopper"]["I2L"], rows["Ant"]["PPO"]) == ("4 of 5", "not run")
    assert attention(runs).rows == [["i2l-9", "unfinished", runs[0].version, "10,240 of 20,480 steps"]]


def test_learning_curves(small: Path) -> None:
    make_run(small / "bco", "bco", ret=77.0, finished=False)
    hopper, ant = learning_curves(groups(load(small)))
    assert (hopper.title, ant.title) == ("Hopper, low-gravity", "Ant, low-gravity")
    lines = {line.label: line for line in hopper.lines}
    assert list(lines) == ["I2L", "GAIL-S", "BCO (unfinished)"]
    assert lines["I2L"].x[-1] == 0.02048
    assert lines["I2L"].y[-1] == pytest.approx(2800.0)
    assert lines["I2L"].spread is not None
    assert lines["I2L"].spread[-1] == pytest.approx(np.std([2000, 2400, 2800, 4000], ddof=1))
    middle = np.interp(0.01024, lines["I2L"].x, lines["I2L"].y)  # straight lines: half of the way, half of the return
    assert middle == pytest.approx(1400.0)
    assert math.isnan(lines["I2L"].y[0])
    assert lines["BCO (unfinished)"].x[-1] == 0.01024
    assert lines["BCO (unfinished)"].spread is None
    levels = {level.label: (level.y, level.dashed) for level in hopper.levels}
    assert levels["PPO"] == (3000.0, False)
    assert levels["demonstration"] == (4000.0, True)
    assert levels["zero actions"] == (-1.5, True)


def test_a_label_has_one_colour_in_all_panels(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "b", options={"elite": {"order": "mean"}})
    make_run(tmp_path / "c", options={"critic": {"steps": 9}})
    make_run(tmp_path / "d", env="Ant-v5")
    make_run(tmp_path / "e", env="Ant-v5", options={"critic": {"steps": 9}})
    hopper, ant = learning_curves(groups(load(tmp_path)))
    first, second = ({line.label: line.color for line in panel.lines} for panel in (hopper, ant))
    assert len(set(first.values())) == 3
    assert second.items() <= first.items()


def test_a_method_alone_is_drawn_as_a_curve_even_if_it_is_a_reference_elsewhere(tmp_path: Path) -> None:
    make_run(tmp_path / "ppo", "ppo", ret=3000.0)
    (panel,) = learning_curves(groups(load(tmp_path)))
    assert [line.label for line in panel.lines] == ["PPO"]


def test_a_run_without_a_curve_still_has_a_level(small: Path) -> None:
    folder = make_run(small / "transfer", "transfer", ret=352.0)
    (folder / "metrics.csv").unlink()
    hopper, _ = learning_curves(groups(load(small)))
    assert {level.label: level.y for level in hopper.levels}["expert transfer"] == 352.0


def test_the_wasserstein_estimate_is_i2ls_alone(small: Path) -> None:
    hopper, ant = distances(groups(load(small)))
    assert [line.label for line in hopper.lines] == ["I2L"]
    assert ant.lines[0].y[-1] == pytest.approx(0.3)


def test_the_capacity_ablation(tmp_path: Path) -> None:
    for capacity, ret in ((1, 900.0), (5, 1000.0), (50, 1100.0)):
        make_run(tmp_path / f"k{capacity}", ret=ret, options={"elite": {"capacity": capacity}})
    make_run(tmp_path / "other", ret=1.0, options={"elite": {"capacity": 7, "order": "mean"}})  # differs in more
    make_run(tmp_path / "gail-s", "gail-s", ret=500.0)
    found = groups(load(tmp_path))
    (members,) = ablations(found)
    assert list(members) == [1, 5, 50]
    rows = records(ablation_table(1, members, found))
    assert [(row["buffer"], row["return"]) for row in rows] == [
        ("capacity 1", 900.0),
        ("capacity 5", 1000.0),
        ("capacity 50", 1100.0),
        ("GAIL-S", 500.0),
    ]
    assert [line.label for line in capacity_curves(1, members, found).lines] == [row["buffer"] for row in rows]


def test_the_lower_bound_and_its_gap(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a")
    (folder / "analysis.json").write_text(json.dumps({"lower_bound": BOUND | {"f_from": 10}}))
    (bound,) = bounds(load(tmp_path))
    assert bound.steps.tolist() == [10240.0, 20480.0]
    assert bound.bound(0.5).tolist() == [-1.0, 1.0]
    rows = records(bounds_table([bound]))
    assert [(row["L"], row["first gap"], row["last gap"]) for row in rows] == [
        (0.5, 3.0, 1.0),  # 2 - (1 - 0.5 * 4), 2 - (1.5 - 0.5 * 1)
        (1.0, 5.0, 1.5),
        (1.5, 7.0, 2.0),
    ]
    assert (rows[0]["last W1 (critic)"], rows[0]["last W1 (exact)"], rows[0]["f of iteration"]) == (1.0, 2.0, 10)


@pytest.mark.parametrize("bound", [{"iteration": [1]}, {**BOUND, "w1": [1.0]}, {**BOUND, "w1": ["x", 1.0]}, [1]])
def test_a_broken_analysis_is_named(tmp_path: Path, bound: Any) -> None:
    folder = make_run(tmp_path / "a")
    (folder / "analysis.json").write_text(json.dumps({"lower_bound": bound}))
    (run,) = load(tmp_path)
    assert run.state == "finished"
    assert "analysis.json: lower_bound needs iteration" in run.note
    assert bounds([run]) == []


def test_speed_and_hours(small: Path) -> None:
    make_run(small / "slow", seed=8, finished=False)
    rows = {(row["robot"], row["method"]): row for row in records(speed(groups(load(small))))}
    ours = rows["Hopper", "I2L"]
    assert (ours["runs"], ours["steps/s"], ours["hours a run"]) == (5, 4096.0, 0.5)
    assert ours["hours in all"] == pytest.approx(4 * 0.5 + 7.5 / 3600)
    assert rows["all", ""]["hours in all"] == pytest.approx(9 * 0.5 + 7.5 / 3600)


def test_a_sweep_over_one_factor(tmp_path: Path) -> None:
    for gravity, ret in ((0.25, 1.0), (1.0, 3.0), (2.0, 4.0)):
        make_run(tmp_path / f"g{gravity}", dynamics="none", ret=ret, world={"gravity": gravity})
    make_run(tmp_path / "preset", dynamics="low-gravity", ret=2.0)
    make_run(tmp_path / "two-factors", dynamics="low-gravity", ret=9.0, world={"density": 2.0})
    make_run(tmp_path / "short", dynamics="low-gravity", ret=9.0, seed=5, budget={"steps": 4096})
    make_run(tmp_path / "ppo", "ppo", dynamics="none", ret=9.0)
    (panel,) = sweeps(groups(load(tmp_path)))
    assert panel.title == "Hopper, factor on gravity"
    (line,) = panel.lines
    assert (line.label, line.x.tolist(), line.y.tolist()) == ("I2L", [0.25, 0.5, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0])


def test_tables_in_three_hands() -> None:
    columns = [Column("who | what"), Column("return", "return"), Column("95%", "interval"), Column("I2L", "beside")]
    rows: list[list[Any]] = [
        ["a <b> `*", 1234.5, (1.0, math.nan), Beside(10.0, 20.0, "below")],
        ["b", math.nan, None, None],
    ]
    table = Table("t", "Title", columns, rows, "note")
    lines = markdown(table).splitlines()
    assert lines[2:6] == [
        "| who \\| what | return | 95% | I2L |",
        "|---|---:|---:|---:|",
        "| a \\<b> \\`\\* | 1,234 | - | 10 (paper 20, below) |",
        "| b | - |  |  |",
    ]
    assert lines[-1] == "note"
    assert list(csv.reader(io.StringIO(comma_separated(table)))) == [
        ["who | what", "return", "95% low", "95% high", "I2L", "I2L (paper)"],
        ["a <b> `*", "1234.5", "1.0", "", "10.0", "20.0"],
        ["b", "", "", "", "", ""],
    ]
    text = hypertext(table)
    assert "a &lt;b&gt;" in text
    assert '<td class=n data-value="1234.5">1,234</td>' in text
    assert 'data-value="10.0" data-verdict="below">10 <small title="below">(20)</small></td>' in text
    assert "In brackets: the paper&#x27;s." in text


def test_a_share_that_rounds_to_nothing_has_no_sign() -> None:
    assert [shown(value, "share") for value in (-0.001, 0.004, -0.01, -10.0)] == ["0.00", "0.00", "-0.01", "-10.00"]


def test_a_rule_stands_above_each_block_of_rows() -> None:
    columns = [Column("ours"), Column("theirs"), Column("return", "return")]
    rows: list[list[Any]] = [["I2L", "PPO", 1.0], ["I2L", "PPO", 2.0], ["I2L", "BC", 3.0]]
    assert hypertext(Table("t", "Title", columns, rows)).count("<tr class=first>") == 2
