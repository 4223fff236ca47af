"""What a report reads: run folders of every sort, how they are named and grouped. Also makes run folders for tests."""

import copy
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlooker import __version__
from onlooker.errors import UserError
from onlooker.report import curves, frame, load, pack
from onlooker.report.comparisons import dynamics_tables
from onlooker.report.entry import thin
from onlooker.report.intake import read_columns
from onlooker.report.unrewarded import unrewarded
from onlooker.report.variants import groups
from onlooker.report.world_names import dynamics_name, env_name
from onlooker.runs.layout import FORMAT, NEUTRAL, RENAMED, completed, renamed

OPTIONS: dict[str, Any] = {
    "i2l": {
        "demo": None,
        "policy": {"hidden": [64, 64], "log_std_init": 0.0},
        "ppo": {"learning_rate": 3e-4, "epochs": 5},
        "critic": {"learning_rate": 5e-5, "steps": 20},
        "elite": {"capacity": 5, "order": "sum"},
    },
    "ppo": {"policy": {"hidden": [64, 64]}, "ppo": {"learning_rate": 3e-4, "epochs": 10}},
}
FACTORS = ("gravity", "density", "friction", "damping", "armature", "stiffness", "gear", "wind")


def make_config(method: str, env: str, dynamics: str, seed: int, **changes: Any) -> dict[str, Any]:
    """As `config.json` has it. Changes: world={...}, budget={...}, options={"elite": {...}}, version=..., format=..."""
    config: dict[str, Any] = {
        "format": 1,
        "version": __version__,
        "method": method,
        "options": copy.deepcopy(OPTIONS["ppo" if method == "ppo" else "i2l"]),
        "world": dict.fromkeys(FACTORS) | {"env": env, "env_kwargs": {}, "max_episode_steps": None},
        "budget": {"steps": 20480, "seed": seed, "num_envs": 8, "steps_per_iteration": 2048},
    }
    config["world"]["dynamics"] = dynamics
    for part, values in changes.pop("options", {}).items():
        config["options"][part] = config["options"].get(part, {}) | values
    for part in ("world", "budget"):
        config[part] |= changes.pop(part, {})
    return config | changes


def make_run(
    folder: Path,
    method: str = "i2l",
    env: str = "Hopper-v5",
    dynamics: str = "low-gravity",
    seed: int = 0,
    ret: float = 1000.0,
    finished: bool = True,
    result: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """A run folder whose curve climbs in a straight line to `ret`; unfinished, it is halfway."""
    config = make_config(method, env, dynamics, seed, **changes)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    size = config["budget"]["steps_per_iteration"]
    iterations = math.ceil(config["budget"]["steps"] / size)
    names = ["iteration", "steps", "return", "episode_length", "episodes", "entropy"]
    names += ["elite_score_mean", "wasserstein"] if method == "i2l" else []
    lines, timing = [",".join(names)], ["iteration,steps,seconds"]
    for done in range(1, (iterations if finished else iterations // 2) + 1):
        values = [done - 1, done * float(size), "nan" if done == 1 else ret * done / iterations, 500.0, 8.0, 1.0 / done]
        values += [0.1 * done, 3.0 / done] if method == "i2l" else []
        lines.append(",".join(map(str, values)))
        timing.append(f"{done - 1},{done * float(size)},{5 + done * 0.5}")
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    (folder / "timing.csv").write_text("\n".join(timing) + "\n")
    if finished:
        told = {
            "method": method,
            "seed": seed,
            "steps": iterations * size,
            "version": config["version"],
            "return": ret,
            "episode_length": 500.0,
            "episodes": 8,
            "eval_return_mean": ret * 1.1,
            "eval_return_std": 12.5,
            "eval_length_mean": 600.0,
            "eval_episodes": 10,
            "random_return": 20.25,
            "zero_return": -1.5,
            "hours": 0.5,
        }
        told |= {} if method == "ppo" else {"demo_return": 4000.0}
        (folder / "result.json").write_text(json.dumps(told | (result or {})))
    return folder


BOUND = {"iteration": [5, 10], "expert_f": [2.0, 2.0], "buffer_f": [1.0, 1.5], "w1": [4.0, 1.0], "exact_w1": [5.0, 2.0]}


def state_and_note(results: Path, name: str) -> tuple[str, str]:
    run = next(run for run in load(results) if run.name == name)
    return run.state, run.note


def test_a_finished_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    make_run(tmp_path / "deep" / "down" / "a", seed=3, ret=1234.5678901234567)
    (run,) = load(tmp_path)
    assert (run.name, run.state, run.note, run.seed, run.steps) == ("deep/down/a", "finished", "", 3, 20480)
    assert (run.method, run.env, run.dynamics, run.version) == ("i2l", "Hopper-v5", "low-gravity", __version__)
    assert run["return"] == 1234.5678901234567
    assert run["eval_return"] == 1234.5678901234567 * 1.1
    assert (run["demo_return"], run["random_return"], run["zero_return"]) == (4000.0, 20.25, -1.5)
    assert (run["hours"], run["eval_std"]) == (0.5, 12.5)
    assert run["steps_per_second"] == 4096.0  # 2048 steps in half a second each, the first iteration left out
    assert run.curve["return"][-1] == pytest.approx(1234.57)
    assert math.isnan(run.curve["return"][0])


def test_a_run_folder_alone_is_enough(tmp_path: Path) -> None:
    assert [run.name for run in load(make_run(tmp_path / "alone"))] == ["alone"]


def test_the_folder_that_a_run_really_writes_is_understood(tmp_path: Path) -> None:
    from onlooker import config
    from onlooker.runs.folder import RunFolder

    made = config.make("i2l", env="Hopper-v5", dynamics="high-density", gravity=0.4, seed=7, steps=4096)
    folder = RunFolder.create(tmp_path / "real", made)
    folder.start_writing(0)
    for iteration in range(2):
        metrics = {"steps": 2048.0 * (iteration + 1), "return": 10.0 * iteration, "wasserstein": 2.0}
        folder.log(iteration, metrics, seconds=3.0 + iteration)
    folder.finish({"steps": 4096, "return": 10.0, "eval_return_mean": 11.0, "eval_return_std": 0.0, "hours": 0.1})
    folder.close()
    (run,) = load(tmp_path)
    assert (run.state, run.note, run.seed) == ("finished", "", 7)
    assert run.dynamics == "gravity 0.4, density 2"
    assert run.config == {"format": FORMAT} | json.loads(json.dumps(made.to_json()))
    assert list(run.curve["wasserstein"]) == [2.0, 2.0]


def test_unfinished_and_failed_runs_are_told_apart(tmp_path: Path) -> None:
    make_run(tmp_path / "slow", seed=0, finished=False)
    broken = make_run(tmp_path / "broken", seed=1, finished=False)
    (broken / "log.txt").write_text("1,000 steps\nTraceback (most recent call last):\nValueError: no  good\n\n")
    again = make_run(tmp_path / "again", seed=2, finished=False)
    (again / "log.txt").write_text("ValueError: no good\n12,000 steps  return 3\n")
    assert state_and_note(tmp_path, "slow") == ("unfinished", "10,240 of 20,480 steps")
    assert state_and_note(tmp_path, "broken") == ("failed", "10,240 of 20,480 steps; ValueError: no good")
    assert state_and_note(tmp_path, "again")[0] == "unfinished"


def test_a_run_that_was_only_begun_has_no_steps(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a")
    for name in ("metrics.csv", "timing.csv", "result.json"):
        (folder / name).unlink()
    (run,) = load(tmp_path)
    assert (run.state, run.note, run.curve) == ("unfinished", "0 of 20,480 steps", {})
    assert math.isnan(run["hours"])


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"format": 0, "version": "0.0.1"}, "made by onlooker 0.0.1: its layout is 0, and this version reads 1"),
        ({"method": "x"}, "made by an unknown version: its layout is None, and this version reads 1"),
        ({"format": 1, "version": "9"}, "made by onlooker 9: config.json has no world.env that can be read"),
        (make_config("i2l", "Hopper-v5", "none", 0, world={"wind": 3}), "its world can't be read"),
        (
            make_config("i2l", "Hopper-v5", "none", 0, budget={"steps": math.inf}),
            "its budget.steps is inf, no number of steps",
        ),
        ([1, 2], "config.json holds no JSON object"),
        ("{", "config.json is no JSON"),
    ],
)
def test_a_folder_that_can_not_be_read_is_named(tmp_path: Path, config: Any, said: str) -> None:
    make_run(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    state, note = state_and_note(tmp_path, "bad")
    assert state == "unreadable"
    assert said in note
    assert "\n" not in note


def test_a_lost_config_or_a_broken_result_is_named(tmp_path: Path) -> None:
    make_run(tmp_path / "lost", seed=0)
    (tmp_path / "lost" / "config.json").unlink()
    make_run(tmp_path / "torn", seed=1)
    (tmp_path / "torn" / "result.json").write_text('{"return": 12')
    make_run(tmp_path / "silent", seed=2, result={"return": math.nan})
    assert state_and_note(tmp_path, "lost") == ("unreadable", "config.json is missing")
    state, note = state_and_note(tmp_path, "torn")
    assert state == "unreadable"
    assert note.startswith("result.json is no JSON")
    assert state_and_note(tmp_path, "silent") == ("finished", "result.json has no return")


def test_an_older_version_with_the_same_layout_is_read(tmp_path: Path) -> None:
    make_run(tmp_path / "old", ret=5.0, version="0.0.9")
    (run,) = load(tmp_path)
    assert (run.state, run.version, run["return"]) == ("finished", "0.0.9", 5.0)


def test_half_a_line_after_a_crash_is_left_out_and_said(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", finished=False)
    whole = (folder / "metrics.csv").read_text()
    (folder / "metrics.csv").write_text(whole[: whole.rstrip("\n").rindex("\n") + 9])
    (run,) = load(tmp_path)
    assert run.note == "metrics.csv: 1 line not whole, left out; 8,192 of 20,480 steps"
    assert list(run.curve["steps"]) == [2048.0, 4096.0, 6144.0, 8192.0]


@pytest.mark.parametrize(
    ("text", "steps", "torn"),
    [
        ("", [], 0),
        ("steps,return", [], 1),
        ("steps,return\n", [], 0),
        ("steps,return\n1,2\n", [1.0], 0),
        ("steps,return\n1,2\n2,3", [1.0], 1),  # a number may be cut: 3 of 3.5
        ("steps,return\n1,2\n2\n3,nan\n", [1.0, 3.0], 1),
        ("steps,return\n1,2\n\0\0\0\0\n", [1.0], 1),
        ("steps,return\nnan,2\nx,2\n", [], 2),
    ],
)
def test_columns_of_broken_files(text: str, steps: list[float], torn: int) -> None:
    columns, left_out = read_columns(io.StringIO(text), ("steps", "return"))
    assert (list(columns.get("steps", [])), left_out) == (steps, torn)


def test_cells_that_a_grid_never_began_are_missing(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    (tmp_path / "grid.json").write_text(json.dumps({"cells": ["a", "b"]}))
    assert [(run.name, run.state) for run in load(tmp_path)] == [("a", "finished"), ("b", "missing")]


def test_the_same_run_twice_counts_once(tmp_path: Path) -> None:
    make_run(tmp_path / "a", finished=False)
    make_run(tmp_path / "b")
    make_run(tmp_path / "c")
    assert [run.state for run in load(tmp_path)] == ["duplicate", "finished", "duplicate"]
    assert state_and_note(tmp_path, "c") == ("duplicate", "the same config and seed as b")


@pytest.mark.parametrize("make", [False, True])
def test_no_folder_and_no_runs_are_user_errors(tmp_path: Path, make: bool) -> None:
    folder = tmp_path / "nothing"
    if make:
        folder.mkdir()
    with pytest.raises(UserError, match="there are no runs in .*nothing" if make else "there is no folder .*nothing"):
        load(folder)


def test_worlds_are_named_by_what_they_change() -> None:
    def name(**world: Any) -> str:
        return dynamics_name(dict.fromkeys(FACTORS) | world)

    assert name(dynamics="low-gravity") == "low-gravity"
    assert name(dynamics="none", gravity=0.5) == "low-gravity"
    assert name(dynamics="low-gravity", gravity=1.0) == "none"
    assert name(dynamics="low-gravity", gravity=0.4) == "gravity 0.4"
    assert name(dynamics="none", density={"torso": 2.0, "foot": 0.5}) == "density torso=2,foot=0.5"
    assert name(dynamics="none", wind=[5.0, 0.0, 0.0]) == "wind 5,0,0"
    assert name(dynamics="none", wind=[0.0, 0.0, 0.0]) == "none"
    assert name(dynamics="moon", gravity=0.1) == "moon, gravity 0.1"
    assert name(dynamics="none", delay=1, slope=0.0, gear=1.0) == "delay 1"
    assert name(dynamics="none", slope=1.0, solver="RK4") == "slope 1, solver RK4"
    assert env_name({"env": "Ant-v5", "env_kwargs": {"x": False}, "max_episode_steps": 5}) == (
        "Ant-v5 (max_episode_steps=5, x=false)"
    )


def test_a_robot_without_a_reward_is_told_of_by_what_there_is(tmp_path: Path) -> None:
    none = dict.fromkeys(
        ["return", "eval_return_mean", "eval_return_std", "random_return", "zero_return", "demo_return"]
    )
    for seed, speed in ((0, 1.0), (1, 2.0)):
        run = make_run(
            tmp_path / f"r{seed}", env="robots/mine.xml", dynamics="none", seed=seed, ret=math.nan, result=none
        )
        header, *lines = (run / "metrics.csv").read_text().splitlines()
        more = [f"{header},forward_speed", *(f"{line},{speed}" for line in lines)]
        (run / "metrics.csv").write_text("\n".join(more) + "\n")
    make_run(tmp_path / "other")
    runs = load(tmp_path)
    assert [run.note for run in runs] == ["", "", ""]  # nothing is amiss
    (row,) = unrewarded(groups(runs)).rows
    last = 3.0 / math.ceil(runs[0].asked_steps / runs[0].config["budget"]["steps_per_iteration"])
    assert row[:7] == ["none", "robots/mine.xml", "I2L", runs[0].asked_steps, 2, 500.0, 1.5]
    assert row[7] == pytest.approx(last, rel=1e-4)
    assert [line[0] for table in dynamics_tables(groups(runs)) for line in table.rows if "mine" in line[0]] == []


def test_only_seeds_are_averaged(tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run(tmp_path / f"a{seed}", seed=seed)
        make_run(tmp_path / f"b{seed}", seed=seed, options={"elite": {"order": "mean"}})
    make_run(tmp_path / "c", budget={"num_envs": 16})
    found = groups(load(tmp_path))
    assert [(group.variant, [run.name for run in group.runs]) for group in found] == [
        ("", ["a0", "a1"]),
        ("elite.order=mean", ["b0", "b1"]),
        ("num_envs=16", ["c"]),
    ]


def test_two_variants_are_both_named(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "b", options={"critic": {"steps": 10}})
    assert [run.variant for run in load(tmp_path)] == ["critic.steps=20", "critic.steps=10"]


def test_the_usual_variant_of_all_settings_needs_no_name(tmp_path: Path) -> None:
    make_run(tmp_path / "usual", env="Ant-v5", options={"policy": {"log_std_init": -1.0}})  # differs from no other Ant
    for capacity in (1, 5, 10):
        make_run(tmp_path / f"capacity-{capacity}", options={"elite": {"capacity": capacity}})
    variants = {run.name: run.variant for run in load(tmp_path)}
    assert variants == {
        "usual": "",
        "capacity-1": "elite.capacity=1",
        "capacity-5": "",
        "capacity-10": "elite.capacity=10",
    }


def test_an_option_that_an_older_version_lacked_is_named(tmp_path: Path) -> None:
    make_run(tmp_path / "a", options={"elite": {"new": 1}})
    make_run(tmp_path / "b", version="0.0.9")
    named = {run.name: run.variant for run in load(tmp_path)}
    assert named == {"a": f"elite.new=1, version={__version__}", "b": "elite.new=not set, version=0.0.9"}


def test_old_names_of_options_are_read_by_todays() -> None:
    for old, new in RENAMED.items():
        assert old.rpartition(".")[0] == new.rpartition(".")[0]  # a rename stays within its section
    config = {"method": "ppo", "options": {"ppo": {"epochs": 5, "trace": 0.9, "clip": 0.2}}}
    assert renamed(config) == {"method": "ppo", "options": {"ppo": {"epochs": 5, "gae_lambda": 0.9, "clip": 0.2}}}
    assert list(renamed(config)["options"]["ppo"]) == ["epochs", "gae_lambda", "clip"]
    assert config["options"] == {"ppo": {"epochs": 5, "trace": 0.9, "clip": 0.2}}  # what was given stays as it is
    assert renamed({"options": {"ppo": {"trace": 0.9, "gae_lambda": 0.8}}}) == {"options": {"ppo": {"gae_lambda": 0.8}}}
    for odd in ({}, {"options": None}, {"options": {"ppo": [1]}}, {"options": {"trace": 1}}):
        assert renamed(odd) == odd


def test_options_that_came_later_are_filled_in_with_what_runs_did_before() -> None:
    config = {"options": {"demo": None, "ppo": {"epochs": 5, "fall": 2.0}, "critic": {}}}
    filled = completed(config)["options"]
    before = {"log_std_within": 1.0, "normalize_values": False, "target_kl": None}
    assert filled["ppo"] == {"epochs": 5, "fall": 2.0} | before
    assert filled["critic"] == {"reward": 0.0, "positive_newest": False}
    assert "elite" not in filled  # a method without a buffer gets none
    assert config["options"]["critic"] == {}
    assert completed({"options": 3}) == {"options": 3}
    assert NEUTRAL["options.discriminator.normalize"] == "learner"


def test_runs_before_and_after_a_rename_and_a_new_option_are_one_group(tmp_path: Path) -> None:
    make_run(tmp_path / "old", seed=0, options={"ppo": {"trace": 0.95}})
    now = {"gae_lambda": 0.95, "target_kl": None, "fall": 0.0, "normalize_values": False}
    make_run(tmp_path / "new", seed=1, options={"ppo": now, "critic": {"reward": 0.0}, "elite": {"weigh": 0.0}})
    make_run(tmp_path / "other", seed=2, options={"ppo": now | {"gae_lambda": 0.9}})
    make_run(tmp_path / "on", seed=3, options={"ppo": now | {"target_kl": 0.01}})
    expected = [
        ("", ["old", "new"]),
        ("ppo.gae_lambda=0.9", ["other"]),
        ("ppo.target_kl=0.01", ["on"]),
    ]
    found = groups(load(tmp_path))
    assert [(group.variant, [run.name for run in group.runs]) for group in found] == expected
    pack(load(tmp_path), tmp_path / "packed")
    configs = json.loads((tmp_path / "packed" / "configs.json").read_text())
    configs["old"]["options"]["ppo"]["trace"] = configs["old"]["options"]["ppo"].pop("gae_lambda")  # packed long ago
    (tmp_path / "packed" / "configs.json").write_text(json.dumps(configs))
    found = groups(load(tmp_path / "packed"))
    assert [(group.variant, [run.name for run in group.runs]) for group in found] == expected


def test_thin_curves_keep_both_ends() -> None:
    columns = {"steps": np.arange(1.0, 1001.0), "return": np.linspace(0, 1, 1000) / 3, "kl": np.ones(1000)}
    columns["wasserstein"] = np.full(1000, math.nan)
    once = thin(columns)
    assert list(once) == ["steps", "return"]
    assert len(once["steps"]) == 200
    assert (once["steps"][0], once["steps"][-1], once["return"][-1]) == (1.0, 1000.0, 0.333333)
    assert all((thin(once)[name] == once[name]).all() for name in once)
    assert thin({}) == {}


def test_results_as_frames(tmp_path: Path) -> None:
    make_run(tmp_path / "a", seed=0, ret=100.0)
    make_run(tmp_path / "b", seed=1, ret=300.0)
    make_run(tmp_path / "c", "ppo", finished=False)
    table = frame(tmp_path)
    first = ["method", "variant", "env", "dynamics", "seed", "steps", "return", "eval_return", "demo_return"]
    assert list(table.columns[:9]) == first
    assert table.groupby("method")["return"].mean()["i2l"] == 200.0
    assert table.set_index("run").loc["c", "state"] == "unfinished"
    long = curves(tmp_path)
    assert set(long["run"]) == {"a", "b", "c"}
    assert long[long["run"] == "b"]["return"].iloc[-1] == 300.0
    assert len(curves(tmp_path, rows=5)) == 15


def test_frames_without_pandas_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "a")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        frame(tmp_path)
