"""What the command line does, from Python."""

from pathlib import Path

import numpy as np

import onlooker


def test_train_and_evaluate_in_a_few_lines(tmp_path: Path) -> None:
    states = np.random.default_rng(0).standard_normal((50, 3))
    small = {
        "steps": 1024,
        "steps_per_iteration": 256,
        "num_envs": 4,
        "ppo": {"minibatches": 4},
        "max_episode_steps": 40,
    }
    run = onlooker.train("i2l", env="Pendulum-v1", demo=states, out=tmp_path / "run", **small)
    assert run.metrics["steps"] == [256, 512, 768, 1024]
    assert run.result["steps"] == 1024
    np.testing.assert_array_equal(onlooker.demos.load(tmp_path / "run" / "demo.npz").obs, states.astype(np.float32))
    result = onlooker.evaluate(run, episodes=3)
    assert result["episodes"] == 3
    assert result["length_mean"] == 40
    assert sum(layer["w"].size for layer in run.policy.actor.net) == 3 * 64 + 64 * 64 + 64 * 1


def test_shipped_demonstrations_load_by_name() -> None:
    demo = onlooker.demos.load("halfcheetah")
    assert demo.obs.shape == (1000, 17)
    assert demo.action is None
    assert onlooker.Dynamics(gravity=0.5).changes == {"gravity": 0.5}
