"""The command line: bad input is one clear line and leaves nothing behind; good input gives what it says."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import onlooker
from onlooker.__main__ import COMMANDS, main
from onlooker.methods import METHODS

SCRIPT = Path(sys.executable).with_name("onlooker")
SMALL = ["--num-envs", "4", "--steps-per-iteration", "128", "--policy.hidden", "16", "--ppo.minibatches", "4"]
HOPPER = ["train", "ppo", "--env", "Hopper-v5", *SMALL, "--steps", "1280"]


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr of a command that must fail with code 2."""
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.err.startswith("onlooker: "), said.err
    assert said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err
    return said.err


# --------------------------------------------------------------------------------------------------------------- help


def test_help_comes_at_once_and_teaches() -> None:
    seconds = []
    for _ in range(5):
        began = time.monotonic()
        told = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True, check=True)
        seconds.append(time.monotonic() - began)
    assert min(seconds) < 0.7
    assert told.stderr == ""
    for word in (*COMMANDS, "ppo", "--dynamics", "low-gravity", "--resume", "onlooker train"):
        assert word in told.stdout
    assert all(len(line) <= 120 for line in told.stdout.splitlines())


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["train"], ["train", "ppo"], ["evaluate"], ["video"], ["demos"], ["grid"]):
        try:
            code = main([*words, "--help"])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        assert code == 0
        assert "usage" in said.out.lower()
        assert words[0] in said.out


def test_help_of_a_method_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "ppo", "--help"])
    out = capsys.readouterr().out
    for option in (
        "--env",
        "--dynamics",
        "--gravity",
        "--wind",
        "--steps",
        "--seed",
        "--num-envs",
        "--threads",
        "--out",
    ):
        assert option in out
    for option in ("--ppo.learning-rate", "--ppo.clip", "--policy.hidden", "--checkpoint-seconds", "--scale-reward"):
        assert option in out


def test_no_words_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "commands" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{onlooker.__version__}\n"
    assert main(["train", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(method in out for method in METHODS)


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["trian"], "unknown command 'trian'; did you mean 'train'?"),
        (["train"], "onlooker train needs a method first"),
        (["train", "--env", "Hopper-v5"], "onlooker train needs a method first"),
        (["train", "pppo"], "unknown method 'pppo'; did you mean 'ppo'?"),
        (["train", "ppo", "--env", "Hoper-v5"], "unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'?"),
        (["train", "ppo", "--env", "hopper"], "unknown environment 'hopper'; did you mean 'Hopper-v5'?"),
        (["train", "ppo", "--env", "CartPole-v1"], "CartPole-v1 has a Discrete action space"),
        (
            ["train", "ppo", "--env", "probes:Stroll"],
            "probes:Stroll has no time limit; give one with --max-episode-steps",
        ),
        (["train", "ppo", "--env", "probes:Nothing"], "can't import the environment factory 'probes:Nothing'"),
        (
            ["train", "ppo", "--env", "probes:UnboundedActions", "--max-episode-steps", "5"],
            "no finite action bounds to squash actions into",
        ),
        (["train", "ppo", "--env-kwargs", "frame_skp=2"], "can't make HalfCheetah-v5"),
        (["train", "ppo", "--env-kwargs", "{bad json"], "--env-kwargs"),
        (["train", "ppo", "--env-kwargs", "[1]"], "can't make HalfCheetah-v5"),
        (["train", "ppo", "--dynamics", "low-gravty"], "unknown dynamics 'low-gravty'; did you mean 'low-gravity'?"),
        (["train", "ppo", "--stepz", "5"], "--stepz"),
        (["train", "ppo", "--ppo.epochz", "5"], "--ppo.epochz"),
        (["train", "ppo", "extra"], "extra"),
        (["train", "ppo", "--steps"], "--steps"),
        (["train", "ppo", "--steps", "0"], "--steps must be from 1 to 10000000000000, not 0"),
        (["train", "ppo", "--steps", "-5"], "--steps"),
        (["train", "ppo", "--steps=-5"], "--steps must be from 1 to 10000000000000, not -5"),
        (["train", "ppo", "--steps", "nan"], "is no whole number"),
        (["train", "ppo", "--steps", "1.5"], "is no whole number"),
        (["train", "ppo", "--steps", "inf"], "is no whole number"),
        (["train", "ppo", "--steps", "lots"], "is no whole number"),
        (["train", "ppo", "--seed", "-1"], "--seed"),
        (["train", "ppo", "--seed", "1.5"], "--seed"),
        (["train", "ppo", "--num-envs", "0"], "--num-envs must be from 1 to 10000, not 0"),
        (["train", "ppo", "--num-envs", "12"], "near: 8"),
        (["train", "ppo", "--max-episode-steps", "0"], "--max-episode-steps must be at least 1, not 0"),
        (["train", "ppo", "--threads", "0"], "--threads must be at least 1, not 0"),
        (["train", "ppo", "--checkpoint-seconds", "nan"], "--checkpoint-seconds must be 0 or more, not nan"),
        (["train", "ppo", "--ppo.minibatches", "33"], "near: 32"),
        (["train", "ppo", "--ppo.learning-rate", "nan"], "--ppo.learning-rate must be above 0 and up to 1"),
        (["train", "ppo", "--ppo.clip", "0"], "--ppo.clip must be a positive, finite number"),
        (["train", "ppo", "--ppo.time-limit", "never"], "--ppo.time-limit"),
        (["train", "ppo", "--policy.log-std-init", "nan"], "--policy.log-std-init"),
        (["train", "ppo", "--gravity", "0"], "gravity factor must be a positive, finite number, not 0.0"),
        (["train", "ppo", "--gravity", "-1"], "gravity"),
        (["train", "ppo", "--gravity=-1"], "gravity factor must be a positive, finite number, not -1.0"),
        (["train", "ppo", "--gravity", "nan"], "gravity factor must be a positive, finite number, not nan"),
        (["train", "ppo", "--gravity", "inf"], "gravity factor must be a positive, finite number, not inf"),
        (["train", "ppo", "--gravity", "half"], "'half' is no factor"),
        (["train", "ppo", "--gravity", "torso=2"], "gravity factor must be a positive, finite number"),
        (["train", "ppo", "--density", "tors=2"], "no part 'tors'; did you mean 'torso'?"),
        (["train", "ppo", "--density", "torso=0"], "density factor must be a positive, finite number, not 0.0"),
        (["train", "ppo", "--wind", "1,2"], "wind must be three finite numbers"),
        (["train", "ppo", "--wind", "nan"], "wind must be three finite numbers"),
        (["train", "ppo", "--wind", "strong"], "--wind: 'strong' is no wind; write 5 or 5,0,0"),
        (["train", "ppo", "--slope", "steep"], "--slope must be a number or None, not 'steep'"),
        (["train", "ppo", "--threads", "many"], "--threads must be a whole number or None, not 'many'"),
        (["train", "ppo", "--policy.hidden", "wide"], "--policy.hidden can't be read from 'wide'"),
        (["train", "i2l", "--match-dims", "5-2"], "--match-dims: '5-2' names no entries; write 0-7 or 0,1,4"),
        (["train", "ppo", "--env", "Pendulum-v1", "--gravity", "0.5"], "Pendulum-v1 has no MuJoCo model"),
        (["train", "ppo", "--preset", "papr"], "no preset 'papr'"),
        (["train", "--resume"], "--resume"),
        (["train", "--resume", "nowhere"], "nowhere is no run folder"),
        (["train", "ppo", "--resume", "nowhere"], "leave out the method"),
        (["train", "--resume", "nowhere", "--steps", "5"], "nowhere is no run folder"),
        (["evaluate"], "name a run folder or a policy file"),
        (["evaluate", "nowhere"], "there is no run nowhere"),
        (["evaluate", "nowhere", "--episodez", "3"], "--episodez"),
        (["video", "nowhere"], "there is no run nowhere"),
        (["grid", "nowhere.toml"], "can't read the grid file nowhere.toml"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    words: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reason in refused(words, capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--stepz", "--gravty", "--ppo.epoch"])
def test_an_unknown_option_names_the_nearest(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    meant = {"--stepz": "--steps", "--gravty": "--gravity", "--ppo.epoch": "--ppo.epochs"}[option]
    assert f"did you mean {meant}?" in refused(["train", "ppo", option, "5"], capsys)


def test_an_output_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert "Not a directory" in refused([*HOPPER, "--out", str(tmp_path / "file" / "run")], capsys)
    assert "is there already and is no empty folder" in refused([*HOPPER, "--out", str(tmp_path / "file")], capsys)
    assert "is there already and is no empty folder" in refused([*HOPPER, "--out", str(tmp_path)], capsys)
    assert "can't" in refused([*HOPPER, "--out", "/proc/onlooker/run"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_errors_of_a_process_of_its_own(tmp_path: Path) -> None:
    """As a user sees them: warnings of libraries would show here, and an exit code is one."""
    for words, reason in (
        (["train", "ppo", "--env", "Hopper-v3"], "can't make Hopper-v3"),
        (["train", "ppo", "--env", "HalfCheetah-v5", "--gravity", "0"], "gravity factor"),
    ):
        told = subprocess.run([SCRIPT, *words], capture_output=True, text=True, cwd=tmp_path)
        assert told.returncode == 2
        assert told.stderr.startswith(f"onlooker: {reason}"), told.stderr
        assert told.stderr.count("\n") == 1, told.stderr
        assert told.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_narrow_terminal_cuts_no_message() -> None:
    narrow = {**os.environ, "COLUMNS": "40"}
    told = subprocess.run([SCRIPT, "train", "ppo", "--steps", "lots"], capture_output=True, text=True, env=narrow)
    assert "--steps: 'lots' is no whole number; write 1000000 or 1e6" in told.stderr
    assert told.stderr.count("\n") == 1, told.stderr


def test_a_users_own_environment_is_found_in_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import gymnasium\n\ndef make():\n    return gymnasium.make('Pendulum-v1')\n")
    words = ["train", "ppo", "--env", "mine:make", "--out", "mine.py/run"]  # the environment is made first
    told = subprocess.run([SCRIPT, *words], capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 2
    assert "can't make the folder mine.py/run: Not a directory" in told.stderr


# ---------------------------------------------------------------------------------------------------- what a run gives


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "run"
    assert main([*HOPPER, "--dynamics", "low-gravity", "--gravity", "0.8", "--seed", "3", "--out", str(path)]) == 0
    return path


def test_the_run_folder(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert {"config.json", "metrics.csv", "policy.npz", "result.json", "curve.png"} <= names
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    told = json.loads((run / "config.json").read_text())
    assert (told["method"], told["world"]["env"], told["budget"]["seed"]) == ("ppo", "Hopper-v5", 3)
    assert (told["world"]["dynamics"], told["world"]["gravity"]) == ("low-gravity", 0.8)


def test_metrics_are_readable_with_pandas(run: Path) -> None:
    frame = pd.read_csv(run / "metrics.csv")
    assert frame["iteration"].tolist() == list(range(10))
    assert frame["steps"].tolist() == [128 * (i + 1) for i in range(10)]
    assert {"return", "episode_length", "episodes", "policy_loss", "value_loss", "kl", "entropy"} <= set(frame.columns)
    assert all(kind.kind in "if" for kind in frame.dtypes)
    assert np.isfinite(frame.iloc[-1].to_numpy(float)).all()
    result = json.loads((run / "result.json").read_text())
    assert frame["return"].iloc[-1] == pytest.approx(result["return"], rel=1e-12)


def test_tensorboard_shows_the_metrics(run: Path) -> None:
    events = EventAccumulator(str(run))
    events.Reload()
    frame = pd.read_csv(run / "metrics.csv").set_index("steps")
    for name in ("return", "kl", "entropy", "episode_length"):
        shown = events.Scalars(name)
        assert shown
        for event in shown:
            assert event.value == pytest.approx(frame.loc[event.step, name], rel=1e-6)


def test_evaluate_prints_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def judge(*words: str) -> dict[str, float]:
        assert main(["evaluate", str(run), "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    home = judge()
    assert set(home) == {"return_mean", "return_std", "length_mean", "episodes"}
    result = json.loads((run / "result.json").read_text())
    assert home == {name.removeprefix("eval_"): value for name, value in result.items() if name.startswith("eval_")}
    assert judge("--episodes", "3")["episodes"] == 3
    # Home is low-gravity with gravity 0.8 instead. The same world in other words gives the same numbers.
    assert judge("--dynamics", "none", "--gravity", "0.8") == home
    assert (
        judge("--dynamics", "low-gravity")
        == judge("--gravity", "0.5")
        == judge("--dynamics", "none", "--gravity", "0.5")
    )
    assert judge("--gravity", "0.5") != home
    assert judge("--dynamics", "high-density") == judge("--dynamics", "none", "--density", "2")
    assert judge("--dynamics", "none") != home
    assert judge("--wind", "5") != home


def test_evaluate_in_words(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--dynamics", "high-friction"]) == 0
    assert capsys.readouterr().out.startswith("Hopper-v5 (friction 3.0): return ")
    assert main(["evaluate", str(run / "policy.npz")]) == 0
    assert capsys.readouterr().out.startswith("Hopper-v5 (gravity 0.8): return ")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--episodes", "0"], "--episodes must be at least 1, not 0"),
        (["--episodes", "nan"], "--episodes"),
        (["--dynamics", "lowgravity"], "unknown dynamics 'lowgravity'; did you mean 'low-gravity'?"),
        (["--gravity", "nan"], "gravity factor must be a positive, finite number"),
        (["--density", "bthigh=2"], "no part 'bthigh'; did you mean 'thigh'?"),
    ],
)
def test_evaluate_refuses(run: Path, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert reason in refused(["evaluate", str(run), *words], capsys)


def test_evaluate_refuses_what_is_no_policy(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (run / "policy.npz").read_bytes()
    for name, content in (("half.npz", data[: len(data) // 2]), ("empty.npz", b""), ("text.npz", b"hello")):
        (tmp_path / name).write_bytes(content)
        assert "is damaged or no file of ours" in refused(["evaluate", str(tmp_path / name)], capsys)
    np.savez(tmp_path / "other.npz", x=np.arange(3))
    assert "other.npz" in refused(["evaluate", str(tmp_path / "other.npz")], capsys)
    (tmp_path / "empty").mkdir()
    assert "is no run folder, and holds no policy.npz" in refused(["evaluate", str(tmp_path / "empty")], capsys)


def test_python_does_what_the_command_line_does(run: Path, tmp_path: Path) -> None:
    made = onlooker.train(
        "ppo",
        env="Hopper-v5",
        dynamics="low-gravity",
        gravity=0.8,
        steps=1280,
        seed=3,
        num_envs=4,
        steps_per_iteration=128,
        policy={"hidden": [16]},
        ppo={"minibatches": 4},
        out=tmp_path / "run",
    )
    for name in ("config.json", "metrics.csv"):
        assert (made.path / name).read_bytes() == (run / name).read_bytes()
    theirs = json.loads((run / "result.json").read_text())
    assert {**made.result, "hours": 0} == {**theirs, "hours": 0}
    assert made.metrics["steps"] == [128.0 * (i + 1) for i in range(10)]
    assert made.policy.world.env == "Hopper-v5"
    home = {name.removeprefix("eval_"): value for name, value in theirs.items() if name.startswith("eval_")}
    assert onlooker.evaluate(made) == onlooker.evaluate(run) == home
    assert onlooker.evaluate(made, dynamics="none", gravity=0.8, episodes=10) == home


def test_an_output_folder_of_its_own_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    taken = Path("runs/ppo-Pendulum-v1-none-s0")
    taken.mkdir(parents=True)
    assert main(["train", "ppo", "--env", "Pendulum-v1", "--max-episode-steps", "20", *SMALL, "--steps", "128"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert f"ppo on Pendulum-v1 (as shipped), seed 0, 128 steps -> {taken}-2" in said.out
    assert "return" in said.out
    assert Path(f"{taken}-2/result.json").exists()
    assert list(taken.iterdir()) == []
