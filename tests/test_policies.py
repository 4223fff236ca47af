"""A policy as a function, and as a file for other programs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import onlooker
from onlooker.__main__ import main
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.evaluation import by_policy, evaluate
from onlooker.policies import policy_file
from onlooker.policies.actor import Actor, PolicyOptions, Stats
from onlooker.policies.policy import Policy

onnx = pytest.importorskip("onnx", reason="ONNX is not installed: pip install 'onlooker[export]'")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'onlooker[export]'")


def tiny(squash: bool = True, env: str = "Pendulum-v1") -> Policy:
    """Two numbers in, one out, worked out by hand: normalised (x - 1) / 2, one layer."""
    net = [{"w": np.array([[0.5], [-1.0], [0.0]], np.float32), "b": np.array([0.25], np.float32)}]
    stats = Stats(*(np.array(value, np.float32) for value in ([1.0, 1, 1], [4.0, 4, 4], 9.0)))
    options = PolicyOptions(hidden=(), squash=squash)
    bounds = np.array([-2.0], np.float32), np.array([2.0], np.float32)
    return Policy(Actor(net, np.zeros(1, np.float32), stats), options, World(env=env), {"method": "hand"}, bounds)


def test_a_policy_is_a_function() -> None:
    policy = tiny()
    # normalised: (1, 0, 0) and (0, 100 -> clipped to 10, 0)
    expected = 2 * np.tanh([[0.5 + 0.25], [-10 + 0.25]])
    np.testing.assert_allclose(policy([[3.0, 1, 1], [1, 201, 1]]), expected, rtol=1e-6)
    one = policy(np.array([3.0, 1, 1]))
    assert one.shape == (1,)
    assert one.dtype == np.float32
    np.testing.assert_allclose(tiny(squash=False)([[3.0, 1, 1], [1, 201, 1]]), [[0.75], [-2.0]], rtol=1e-6)


def test_it_draws_when_it_is_told_to() -> None:
    policy, obs = tiny(squash=False), np.array([3.0, 1, 1])
    draws = [float(policy(obs, deterministic=False, rng=seed)[0]) for seed in range(3)]
    noise = [np.random.default_rng(seed).standard_normal((1, 1))[0, 0] for seed in range(3)]  # log_std is 0
    np.testing.assert_allclose(draws, np.clip(0.75 + np.array(noise), -2, 2), rtol=1e-6)
    many = policy(np.tile(obs, (4, 1)), deterministic=False, rng=0)
    assert len(np.unique(many)) == 4


@pytest.mark.parametrize("obs", [np.zeros(2), np.zeros((1, 4)), np.zeros((1, 1, 3)), 1.0])
def test_observations_of_other_shapes_are_refused(obs: Any) -> None:
    with pytest.raises(UserError, match="the policy sees observations of 3 numbers, not of shape"):
        tiny()(obs)


def test_the_file_keeps_every_number(tmp_path: Path) -> None:
    policy_file.save(tmp_path / "p.npz", tiny())
    again = onlooker.load(tmp_path / "p.npz")
    assert isinstance(again, Policy)
    assert again.world == tiny().world
    for ours, theirs in zip(policy_file.numbers(tiny().actor).values(), policy_file.numbers(again.actor).values()):
        np.testing.assert_array_equal(ours, theirs)
    assert [bound.tolist() for bound in again.limits] == [[-2.0], [2.0]]


def test_a_file_without_bounds_asks_its_environment(tmp_path: Path) -> None:
    """As those of 0.1.0, and the shipped experts."""
    whole = tiny()
    policy_file.save(tmp_path / "p.npz", Policy(whole.actor, whole.options, whole.world, whole.meta))
    again = policy_file.load(tmp_path / "p.npz")
    assert again.bounds is None
    assert [bound.tolist() for bound in again.limits] == [[-2.0], [2.0]]


def test_a_plain_gymnasium_loop_is_what_evaluate_does() -> None:
    """And it needs no jax."""
    script = """
import sys
import gymnasium as gym
import onlooker
policy = onlooker.load("hopper")
env = gym.make("Hopper-v5")
obs, _ = env.reset(seed=1)
total = 0.0
while True:
    obs, reward, terminated, truncated, _ = env.step(policy(obs))
    total += reward
    if terminated or truncated:
        break
print(total, "jax" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=True).stdout.split()
    assert said[1] == "False"
    assert float(said[0]) > 3500  # the expert's own: 3,800


@pytest.mark.parametrize("robot", ["hopper", "halfcheetah"])
def test_onnx_acts_and_earns_the_same(robot: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "policy.onnx"
    assert main(["export", robot, str(file)]) == 0
    ours, theirs = onlooker.load(robot), onlooker.load(file)
    assert type(theirs).__name__ == "OnnxPolicy"
    obs = np.random.default_rng(0).normal(0, 3, (10_000, ours.obs_size))
    np.testing.assert_allclose(theirs(obs), ours(obs), atol=1e-6)
    returns = [[episode.ret for episode in evaluate(p.world, by_policy(p), 10)] for p in (ours, theirs)]
    assert returns[0] == returns[1]
    names = {entry.key: entry.value for entry in onnx.load(file).metadata_props}
    assert names["robot"] == ours.world.env
    assert json.loads(names["physics"]) == {}
    assert len(json.loads(names["observation_names"])) == ours.obs_size
    assert json.loads(names["action_names"])[0] == {"hopper": "thigh_joint", "halfcheetah": "bthigh"}[robot]


def test_single_precision_is_near(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["export", "hopper", str(tmp_path / "p.onnx"), "--single"]) == 0
    obs = np.random.default_rng(0).normal(0, 3, (1000, 11))
    near, exact = onlooker.load(tmp_path / "p.onnx")(obs), onlooker.load("hopper")(obs)
    np.testing.assert_allclose(near, exact, atol=1e-5)
    assert (near != exact).any()


def test_draws_clipped_to_their_bounds_leave_too(tmp_path: Path) -> None:
    from onlooker.policies import onnx_file

    onnx_file.save(tmp_path / "p.onnx", tiny(squash=False))
    obs = [[3.0, 1, 1], [1, 201, 1], [201, 1, 1]]
    np.testing.assert_array_equal(onlooker.load(tmp_path / "p.onnx")(obs), np.array([[0.75], [-2.0], [2.0]]))


def test_safetensors_holds_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    from safetensors import safe_open

    policy_file.save(tmp_path / "p.npz", tiny())
    assert main(["export", str(tmp_path / "p.npz"), str(tmp_path / "numbers"), "--format", "safetensors"]) == 0
    with safe_open(tmp_path / "numbers", "np") as file:
        assert file.get_tensor("layers.0.weight").tolist() == [[0.5, -1.0, 0.0]]
        assert file.get_tensor("observation_var").tolist() == [4.0, 4.0, 4.0]
        assert file.get_tensor("action_high").tolist() == [2.0]
        assert file.metadata()["robot"] == "Pendulum-v1"
        assert json.loads(file.metadata()["action_names"]) == ["action_0"]


def network(path: Path, inputs: int = 1, shape: tuple = ("n", 3), outside: bool = False) -> Path:
    """Somebody else's policy: the sum of what it sees, three times."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    given = [helper.make_tensor_value_info(f"in{i}", kind, shape) for i in range(inputs)]
    made = [helper.make_tensor_value_info("out", kind, (shape[0], 1))]
    weight = onnx.numpy_helper.from_array(np.full((3, 1), 3.0, np.float32), "w")
    nodes = [helper.make_node("MatMul", ["in0", "w"], ["out"])]
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(helper.make_graph(nodes, "g", given, made, [weight]), opset_imports=opset, ir_version=8)
    if outside:
        onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    else:
        onnx.save_model(model, path)
    return path


@pytest.mark.parametrize("rows", ["n", 1])
def test_somebody_elses_policy_acts_within_the_bounds(rows: str | int, tmp_path: Path) -> None:
    theirs = onlooker.load(network(tmp_path / "p.onnx", shape=(rows, 3)), env="Pendulum-v1")
    np.testing.assert_allclose(theirs([[0.1, 0.2, 0.3], [9, 9, 9]]), [[1.8], [2.0]], rtol=1e-6)


def test_it_is_evaluated_and_recorded(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = str(network(tmp_path / "p.onnx"))
    assert main(["evaluate", "--policy", file, "--env", "Pendulum-v1", "--episodes", "2", "--json"]) == 0
    returns = json.loads(capsys.readouterr().out)["return_mean"]
    demo = str(tmp_path / "d.npz")
    assert main(["demos", "record", file, "--env", "Pendulum-v1", "--episodes", "2", "--out", demo]) == 0
    recorded = onlooker.demos.load(demo)
    assert recorded.obs.shape == (400, 3)
    assert np.mean(recorded.meta["returns"]) == pytest.approx(returns)


@pytest.mark.parametrize(
    ("made", "words", "said"),
    [
        ({}, [], "does not say which robot it is for; say it with --env"),
        ({"inputs": 2}, ["--env", "Pendulum-v1"], "has 2 inputs and 1 outputs; a policy has one of each"),
        ({"shape": ("n", "m")}, ["--env", "Pendulum-v1"], "a policy's are tensor(float) [N, how many]"),
        ({}, ["--env", "Hopper-v5"], "expects observations of 3 numbers, the environment gives 11"),
        ({}, ["--env", "Hoper-v5"], "unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'"),
        ({"outside": True}, ["--env", "Pendulum-v1"], "keeps its numbers in other files"),
    ],
)
def test_what_does_not_fit_is_one_line(
    made: dict, words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["evaluate", str(network(tmp_path / "p.onnx", **made)), *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_what_is_no_onnx_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for number, content in enumerate((b"", b"no network", network(tmp_path / "p.onnx").read_bytes()[:40])):
        (tmp_path / f"{number}.onnx").write_bytes(content)
        assert main(["evaluate", str(tmp_path / f"{number}.onnx"), "--env", "Pendulum-v1"]) == 2
        err = capsys.readouterr().err
        assert "is no ONNX file that can be run" in err
        assert err.count("\n") == 1


def test_exports_that_can_not_be_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "there.onnx").write_text("mine")
    for words, said in (
        (["hopper", str(tmp_path / "p.pt")], "is neither .onnx nor .safetensors"),
        (["hopper", str(tmp_path / "there.onnx")], "is there already"),
        (["hoper", str(tmp_path / "p.onnx")], "no run folder, policy file or shipped expert hoper"),
        (["hopper", str(tmp_path / "nowhere" / "p.onnx")], "can't write"),
    ):
        assert main(["export", *words]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert (tmp_path / "there.onnx").read_text() == "mine"


def test_stable_baselines_evaluates_it() -> None:
    evaluation = pytest.importorskip(
        "stable_baselines3.common.evaluation", reason="Stable-Baselines3 is not installed: pip install 'onlooker[sb3]'"
    )
    mean, _ = evaluation.evaluate_policy(onlooker.load("hopper"), gym.make("Hopper-v5"), n_eval_episodes=1, warn=False)
    assert mean > 3500
