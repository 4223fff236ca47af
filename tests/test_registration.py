"""Our worlds under Gymnasium's roof."""

import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from onlooker.envs.make import make_pool
from onlooker.envs.registration import IDS
from onlooker.envs.robot_env import RobotEnv
from onlooker.envs.robots import TASKS
from onlooker.envs.world import resolve
from onlooker.errors import UserError

LIGHT: dict[str, Any] = {"dynamics": "low-gravity", "gravity": 0.4, "density": {"torso": 2.0}}


@pytest.mark.parametrize("order", ["gymnasium, onlooker", "onlooker, gymnasium"])
def test_import_onlooker_is_enough(order: str) -> None:
    script = f"import {order}\nprint(gymnasium.make('onlooker/Hopper-v5', gravity=0.5).unwrapped.model.opt.gravity[2])"
    assert (
        subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=True).stdout == "-4.905\n"
    )


def test_who_has_no_use_for_gymnasium_does_not_wait_for_it() -> None:
    script = "import onlooker, sys; print('gymnasium' in sys.modules, 'numpy' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, check=True).stdout
    assert said == "False False\n"


def test_every_robot_of_the_pool_is_there() -> None:
    classes = {type(gym.make(f"onlooker/{name}").unwrapped) for name in IDS}
    assert classes == set(TASKS) - {RobotEnv}


@pytest.mark.parametrize("name", ["Hopper-v5", "Ant-v5"])
@pytest.mark.parametrize("delay", [0, 2])
def test_it_equals_the_pool_digit_for_digit(name: str, delay: int) -> None:
    env = gym.make(f"onlooker/{name}", **LIGHT, delay=delay)
    pool = make_pool(name, 1, 0, None, resolve("low-gravity", gravity=0.4, density={"torso": 2.0}, delay=delay))
    pool.reset()
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=pool.episode_seed(0))
    np.testing.assert_array_equal(obs, pool.obs[0])
    for _ in range(100):
        action = rng.uniform(-1, 1, pool.action_size).astype(np.float32)
        obs, reward, terminated, truncated, _ = env.step(action)
        step = pool.step(action[None])
        np.testing.assert_array_equal(obs, step.next_obs[0])
        assert (reward, terminated, truncated) == (step.reward[0], step.terminated[0], step.truncated[0])
        if terminated or truncated:
            obs, _ = env.reset(seed=pool.episode_seed(0))
    pool.close()


@pytest.mark.parametrize("settings", [LIGHT, {"delay": 1}])
def test_gymnasiums_checker_is_content(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", message=".*Box (low|high)|.*infinity|.*not within the obs|.*render", append=False
        )
        check_env(gym.make("onlooker/Hopper-v5", **settings).unwrapped, skip_render_check=True)


def test_its_spec_makes_it_again() -> None:
    env = gym.make("onlooker/Hopper-v5", **LIGHT)
    assert env.spec is not None
    again: Any = gym.make(env.spec).unwrapped
    assert env.spec.id == "onlooker/Hopper-v5"
    assert env.spec.max_episode_steps == 1000
    assert again.model.opt.gravity[2] == -9.81 * 0.4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dynamics": "low-gravty"}, "unknown dynamics 'low-gravty'; did you mean 'low-gravity'"),
        ({"gravity": -1}, "gravity factor must be"),
        ({"density": {"tors": 2}}, "tors"),
        ({"frame_skip": 0}, "frame_skip must be a whole number"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        gym.make("onlooker/Hopper-v5", **settings)


def test_stable_baselines_learns_in_it() -> None:
    sb3 = pytest.importorskip(
        "stable_baselines3", reason="Stable-Baselines3 is not installed: pip install 'onlooker[sb3]'"
    )
    model = sb3.PPO("MlpPolicy", gym.make("onlooker/Hopper-v5", **LIGHT), n_steps=64, batch_size=32, n_epochs=1, seed=0)
    model.learn(128)
    assert model.num_timesteps == 128
