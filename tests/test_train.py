"""The loop, and that nothing is lost: kill -9, Ctrl-C, damage, a full disk, another version, a second process."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from onlooker import __version__, config, evaluation
from onlooker.__main__ import main
from onlooker.api import evaluate
from onlooker.errors import UserError
from onlooker.interrupts import Interrupted
from onlooker.loop import train
from onlooker.runs.checkpoint import newest_first
from onlooker.start import Ready, begin, resume
from onlooker.storage import load_arrays

TESTS = Path(__file__).parent
PPO = {"epochs": 2, "minibatches": 4}
SIZES: dict[str, Any] = {"num_envs": 4, "steps_per_iteration": 128, "policy": {"hidden": [16]}, "ppo": PPO}
FLAGS = ["--num-envs", "4", "--steps-per-iteration", "128", "--policy.hidden", "16"]
FLAGS += ["--ppo.epochs", "2", "--ppo.minibatches", "4"]
HOPPER = ["--env", "Hopper-v5", "--dynamics", "low-gravity"]
PENDULUM = ["--env", "Pendulum-v1", "--max-episode-steps", "50"]
Start = Callable[..., subprocess.Popen]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Starts `onlooker` as a process of its own. The processes share what JAX compiled."""
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_COMPILATION_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }

    def start(*words: str | Path, **variables: str) -> subprocess.Popen:
        env = os.environ | {"PYTHONPATH": str(TESTS)} | cache | variables
        line = [sys.executable, "-m", "onlooker", *map(str, words)]
        return subprocess.Popen(line, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


def wait_for_lines(process: subprocess.Popen, path: Path, count: int) -> None:
    """Until a file has this many lines."""
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def numbers(run: Path) -> dict[str, Any]:
    """All that must be the same whenever a run is repeated."""
    arrays, meta = load_arrays(run / "policy.npz")
    result = json.loads((run / "result.json").read_text())
    del result["hours"]
    weights = {name: (array.dtype.str, array.tobytes()) for name, array in arrays.items()}
    return {"metrics": (run / "metrics.csv").read_bytes(), "weights": weights, "meta": meta, "result": result}


def file_names(run: Path) -> set[str]:
    """Without the time in the name of TensorBoard's."""
    return {path.name.split(".tfevents")[0] for path in run.iterdir()}


def everything(run: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in run.rglob("*") if file.is_file() and file.name != ".lock"}


def assert_one_line(err: str) -> None:
    assert err.startswith("onlooker: "), err
    assert err.count("\n") == 1, err


# ----------------------------------------------------------------------------------------------- killed and resumed


@pytest.mark.parametrize(("world", "kills"), [(HOPPER, 3), (PENDULUM, 2)], ids=["robot", "gymnasium"])
def test_killed_at_random_moments_it_ends_as_if_it_had_not_been(
    start: Start, tmp_path: Path, world: list[str], kills: int
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    words = ["train", "ppo", *world, *FLAGS, "--steps", "5e3", "--seed", "7"]  # 40 iterations
    unbroken = start(*words, "--out", whole, "--threads", "1")
    assert unbroken.wait() == 0, unbroken.communicate()

    seed = random.randrange(10**6)
    rng = random.Random(seed)
    process = start(*words, "--out", broken, "--threads", "2", "--checkpoint-seconds", "0")
    for kill in range(kills):
        wait_for_lines(process, broken / "metrics.csv", 4 + 12 * kill)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        assert process.wait() == -signal.SIGKILL
        newest = newest_first(broken / "checkpoints")[0]
        if kill == 1:  # and the newest checkpoint is damaged, too
            newest.write_bytes(newest.read_bytes()[: rng.randrange(newest.stat().st_size)])
        process = start("train", "--resume", broken, "--threads", str(1 + kill), "--checkpoint-seconds", "0")
        if kill == 1:
            assert process.stdout is not None
            process.stdout.readline()  # what the run is
            assert process.stdout.readline().startswith(f"passed over a checkpoint: {newest}")
    _, err = process.communicate()
    assert (process.returncode, err) == (0, ""), err
    assert numbers(broken) == numbers(whole), seed
    assert file_names(broken) == file_names(whole), seed  # no rubbish


def test_ctrl_c_saves_and_says_how_to_go_on(start: Start, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start("train", "ppo", *PENDULUM, *FLAGS, "--steps", "1e6", "--out", run)
    wait_for_lines(process, run / "metrics.csv", 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == f"stopped and saved; go on with: onlooker train --resume {run}"
    done = len((run / "metrics.csv").read_text().splitlines()) - 1
    assert newest_first(run / "checkpoints")[0].name == f"{done:08d}.npz"  # nothing of what was done is lost
    assert not (run / "result.json").exists()


# -------------------------------------------------------------------------------------------------- in this process


def begun(path: Path, **settings: Any) -> Ready:
    given: dict[str, Any] = {"env": "Pendulum-v1", "max_episode_steps": 50, "steps": 15 * 128} | SIZES | settings
    return begin(config.make("ppo", **given), path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 15 iterations to its end."""
    run = begun(tmp_path_factory.mktemp("whole") / "run")
    train(run)
    return run.folder.path


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, stopped with Ctrl-C after 6."""
    run = begun(tmp_path_factory.mktemp("stopped") / "run")

    def watch(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == 6:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        train(run, listener=watch)
    assert [path.name for path in newest_first(run.folder.checkpoints)] == ["00000006.npz"]
    return run.folder.path


@pytest.fixture
def half(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the stopped run."""
    return Path(shutil.copytree(stopped, tmp_path / "half"))


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows."""
    shown = EventAccumulator(str(run))
    shown.Reload()
    return {tag: [(event.step, event.value) for event in shown.Scalars(tag)] for tag in shown.Tags()["scalars"]}


def test_stopped_and_resumed_it_ends_as_if_it_had_not_been(whole: Path, half: Path) -> None:
    train(resume(half))
    assert numbers(half) == numbers(whole)
    assert file_names(half) == file_names(whole)
    # TensorBoard shows the same curve, with each point once.
    assert [step for step, _ in scalars(whole)["kl"]] == [128 * (i + 1) for i in range(15)]
    assert scalars(half) == scalars(whole)


def test_metrics_have_one_line_an_iteration_and_steps_count_all_environments(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []
    run = begun(tmp_path / "run", steps=5 * 128 - 100)  # rounded up to whole iterations
    result = train(run, listener=lambda iteration, metrics: seen.append((iteration, metrics["steps"])))
    assert seen == [(i, 128 * i) for i in range(1, 6)]
    rows = [row.split(",")[:2] for row in (run.folder.path / "metrics.csv").read_text().splitlines()]
    assert rows == [["iteration", "steps"], *([str(i), f"{128.0 * (i + 1)}"] for i in range(5))]
    # Pendulum's episodes have 50 steps here: 5 * 32 = 160 steps in each of 4 environments finish 3 each.
    assert (result["steps"], result["episodes"], result["episode_length"]) == (640, 12, 50)
    assert len(newest_first(run.folder.checkpoints)) == 1  # it can be given more steps
    assert run.folder.finished


def test_the_seed_matters(whole: Path, tmp_path: Path) -> None:
    other = begun(tmp_path / "run", seed=1)
    train(other)
    first, second = numbers(whole), numbers(other.folder.path)
    assert first["metrics"].splitlines()[1] != second["metrics"].splitlines()[1]
    assert all(first["weights"][name] != second["weights"][name] for name in first["weights"] if "'w'" in name)


def test_the_final_evaluation_can_be_repeated(whole: Path) -> None:
    """Fixed seeds and frozen statistics: `evaluate` gives the numbers of the result."""
    result = numbers(whole)["result"]
    judged = evaluate(whole)
    assert judged == {name.removeprefix("eval_"): value for name, value in result.items() if name.startswith("eval_")}
    assert (judged["episodes"], judged["length_mean"]) == (10, 50)
    assert judged["return_std"] > 0


def test_a_run_that_is_complete_stays_as_it_is(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything(whole)
    assert main(["train", "--resume", str(whole)]) == 0
    assert "is complete" in capsys.readouterr().out
    assert everything(whole) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": "0.0.9"}, f"was begun by onlooker 0.0.9, this is {__version__}"),
        ({"format": 99}, "is a run folder of format 99, and this version reads 1"),
        ({"budget": {"seed": 1, "steps": 1920, "num_envs": 4, "steps_per_iteration": 128}}, "another configuration"),
    ],
)
def test_another_version_or_config_is_refused(
    half: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], reason: str
) -> None:
    told = json.loads((half / "config.json").read_text())
    (half / "config.json").write_text(json.dumps(told | change))
    before = everything(half)
    assert main(["train", "--resume", str(half)]) == 2
    err = capsys.readouterr().err
    assert_one_line(err)
    assert reason in err
    assert everything(half) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", f'{{"format": 1, "version": "{__version__}"}}'])
def test_a_damaged_config_is_refused(half: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (half / "config.json").write_text(text)
    before = everything(half)
    assert main(["train", "--resume", str(half)]) == 2
    assert_one_line(capsys.readouterr().err)
    assert everything(half) == before


def test_a_folder_that_holds_another_run_is_refused(half: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything(half)
    assert main(["train", "ppo", *PENDULUM, *FLAGS, "--out", str(half)]) == 2
    err = capsys.readouterr().err
    assert_one_line(err)
    assert f"{half} holds a run already; go on with `onlooker train --resume {half}`" in err
    assert everything(half) == before


def test_a_second_process_on_the_same_folder_is_refused(half: Path, start: Start) -> None:
    answers: list[tuple[int, str]] = []

    def watch(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == 8:
            before = everything(half)
            second = start("train", "--resume", half)
            _, err = second.communicate()
            answers.append((second.returncode, err))
            assert everything(half) == before

    train(resume(half), listener=watch)
    (code, err), *_ = answers
    assert code == 2
    assert_one_line(err)
    assert f"another process is writing to {half}" in err


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "the environment failed: RuntimeError: the motor burnt out"),
        ("nan-obs", "the environment returned NaN or infinite numbers in iteration 2"),
        ("inf-reward", "the environment returned NaN or infinite numbers in iteration 2"),
    ],
)
def test_an_environment_that_fails_in_mid_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, reason: str
) -> None:
    run = tmp_path / "run"
    broken = ["--env", "probes:Breaks", "--env-kwargs", f"at=71,how={how}", "--max-episode-steps", "9"]  # 32 a rollout
    assert main(["train", "ppo", *broken, *FLAGS, "--out", str(run), "--checkpoint-seconds", "0"]) == 2
    err = capsys.readouterr().err
    assert_one_line(err)
    assert reason in err
    assert f"onlooker train --resume {run}" in err
    assert newest_first(run / "checkpoints")[0].name == "00000002.npz"
    assert len((run / "metrics.csv").read_text().splitlines()) == 3


# ------------------------------------------------------------------------------------------------------ a full disk


def test_a_file_that_cannot_grow_is_one_line_and_loses_nothing(start: Start, whole: Path, half: Path) -> None:
    process = start(
        "train", "--resume", half, "--checkpoint-seconds", "0", JAX_COMPILATION_CACHE_DIR=str(half / "none")
    )
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (5000, 5000))  # a checkpoint is larger, and so are programs
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert_one_line(err)
    assert "File too large" in err
    train(resume(half))
    assert numbers(half) == numbers(whole)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_full_disk_is_one_line_and_loses_nothing(start: Start, whole: Path, half: Path) -> None:
    disk = half.with_name("disk")
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this root can't mount")
    try:
        run = Path(shutil.copytree(half, disk / "run"))
        with pytest.raises(OSError, match="No space left on device"):
            (disk / "rest").write_bytes(bytes(2**20))
        process = start("train", "--resume", run, "--checkpoint-seconds", "0")
        _, err = process.communicate(timeout=120)
        assert process.returncode == 2, err
        assert_one_line(err)
        assert "No space left on device" in err
        (disk / "rest").unlink()
        train(resume(run))
        assert numbers(run) == numbers(whole)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_an_environment_without_action_bounds(tmp_path: Path) -> None:
    """Random actions are then standard normal ones. The reward of the single step is -(action - 0.5)^2."""
    words = ["--env", "probes:UnboundedActions", "--max-episode-steps", "5", "--policy.no-squash", "--steps", "128"]
    assert main(["train", "ppo", *words, *FLAGS, "--out", str(tmp_path)]) == 0
    drawn = np.random.default_rng(evaluation.SEED).standard_normal(10)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["random_return"] == pytest.approx(-((drawn - 0.5) ** 2).mean(), rel=1e-6)
    assert result["zero_return"] == pytest.approx(-0.25)


def test_a_run_too_short_for_a_single_episode_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "ppo", *PENDULUM, *FLAGS, "--steps", "128", "--out", str(tmp_path)]) == 0  # 32 steps of 50
    out = capsys.readouterr().out
    assert "no training episode came to its end" in out
    assert "nan" not in out


# ------------------------------------------------------------------------------------------------------- more steps


def test_a_finished_run_with_more_steps_is_the_longer_run_bit_for_bit(whole: Path, tmp_path: Path) -> None:
    short = begun(tmp_path / "short", steps=7 * 128)
    train(short)
    train(resume(short.folder.path, 15 * 128))
    assert numbers(short.folder.path) == numbers(whole)


def test_fewer_steps_and_schedules_that_are_over_are_refused(tmp_path: Path) -> None:
    short = begun(tmp_path / "short", steps=2 * 128, ppo={"minibatches": 4, "anneal": True, "anneal_steps": 512})
    train(short)
    path = short.folder.path
    with pytest.raises(UserError, match="--steps can only be more, not 128"):
        resume(path, 128)
    with pytest.raises(UserError, match="falls over 512 steps, so --steps can be at most that"):
        resume(path, 640)
    assert train(resume(path, 512))["steps"] == 512


def test_a_run_whose_recording_is_gone_says_so(tmp_path: Path) -> None:
    made = config.make("i2l", env="Hopper-v5", steps=512, num_envs=4, steps_per_iteration=256)
    path = begin(made, tmp_path / "run").folder.path
    (path / "demo.npz").unlink()
    with pytest.raises(UserError, match="the recording that it watches is gone"):
        resume(path)


def test_a_policy_where_a_checkpoint_should_be_is_refused(whole: Path, tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    run.folder.checkpoints.mkdir()
    (run.folder.checkpoints / "00000003.npz").write_bytes((whole / "policy.npz").read_bytes())
    with pytest.raises(UserError, match="is no checkpoint"):
        train(run)


def test_results_are_strict_json(tmp_path: Path) -> None:
    run = begun(tmp_path / "run", steps=128, max_episode_steps=1000)  # too short for an episode: no return
    train(run)
    text = (run.folder.path / "result.json").read_text()
    assert json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["return"] is None


def test_a_folder_that_was_never_finished_making_is_made_anew(tmp_path: Path) -> None:
    made = config.make("i2l", env="Hopper-v5", steps=512, num_envs=4, steps_per_iteration=256)
    path = begin(made, tmp_path / "run").folder.path
    (path / "config.json").unlink()  # as after a kill between the recording and the config
    assert begin(made, path).folder.path == path
    (path / "config.json").unlink()
    (path / "letter.txt").write_text("mine")
    with pytest.raises(UserError, match="is there already and is no empty folder"):
        begin(made, path)


def test_a_timing_file_of_other_columns_does_not_stop_a_run(half: Path) -> None:
    lines = (half / "timing.csv").read_text().splitlines()
    (half / "timing.csv").write_text("\n".join(["a,b", *("x,y" for _ in lines[1:])]) + "\n")
    assert train(resume(half))["steps"] == 15 * 128
