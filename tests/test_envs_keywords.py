"""Keywords, time limits and sizes that can't work are refused in one line, before anything is built."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probes import Stroll

from onlooker import __main__ as command_line
from onlooker import importing
from onlooker.envs.gym_pool import GymPool
from onlooker.envs.make import make_env, make_pool
from onlooker.envs.pool import MujocoPool
from onlooker.envs.world import World
from onlooker.errors import UserError


@pytest.mark.parametrize(
    ("kwargs", "reason"),
    [
        ({"frame_skip": 1.5}, "frame_skip must be a whole number from 1 to 1000, not 1.5"),
        ({"frame_skip": -1}, "frame_skip must be a whole number from 1 to 1000, not -1"),
        ({"frame_skip": 0}, "frame_skip must be a whole number from 1 to 1000, not 0"),
        ({"frame_skip": True}, "frame_skip must be a whole number"),
        ({"frame_skip": 10**9}, "frame_skip must be a whole number"),
        ({"reset_noise_scale": np.nan}, "reset_noise_scale must be finite, not nan"),
        ({"reset_noise_scale": np.inf}, "reset_noise_scale must be finite, not inf"),
        ({"reset_noise_scale": "nan"}, "reset_noise_scale must be finite, not 'nan'"),
        ({"reset_noise_scale": "-inf"}, "reset_noise_scale must be finite, not '-inf'"),
        ({"reset_noise_scale": "much"}, "reset_noise_scale of Hopper-v5 is a number"),
        ({"reset_noise_scale": -0.1}, "reset_noise_scale of Hopper-v5 must be 0 or more"),
        ({"terminate_when_unhealthy": "no"}, "terminate_when_unhealthy of Hopper-v5 is true or false, not 'no'"),
        ({"healthy_z_range": [0.7, np.nan]}, "healthy_z_range must be finite, not nan"),
        ({"healthy_z_range": 0.7}, "healthy_z_range of Hopper-v5 is 2 numbers"),
        ({"healthy_z_range": [2, 1]}, "healthy_z_range of Hopper-v5 is from low to high"),
        ({"render_mode": "human"}, "render_mode can't be given"),
        ({"xml_file": "nowhere.xml"}, "there is no file nowhere.xml"),
        ({"xml_file": "../nowhere.xml"}, "there is no file ../nowhere.xml"),
    ],
)
def test_bad_keywords_are_refused(kwargs: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as failure:
        make_env("Hopper-v5", kwargs)
    assert reason in str(failure.value)
    assert "\n" not in str(failure.value)


def test_an_open_range_is_fine() -> None:
    assert make_env("Hopper-v5", {"healthy_z_range": [0.5, np.inf]}).unwrapped._healthy_z_range == [0.5, np.inf]  # type: ignore[attr-defined]


def test_what_gymnasium_takes_is_taken() -> None:
    assert make_pool("Ant-v5", 1, 0, {"main_body": "torso"}).obs_size == 105  # by number or by name
    make_env("Ant-v5", {"reset_noise_scale": np.float32(0.1), "frame_skip": np.int64(2), "healthy_reward": np.int64(1)})
    make_env("Hopper-v5", {"healthy_z_range": np.array([0.7, 2.0])})


def test_a_model_lies_beside_the_user_or_with_gymnasium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Path(gym.make("Hopper-v5").unwrapped.fullpath).read_text()  # type: ignore[attr-defined]
    (tmp_path / "my.xml").write_text(shipped.replace('gear="200.0"', 'gear="123.0"'))
    monkeypatch.chdir(tmp_path)
    pool = make_pool("Hopper-v5", 1, 0, {"xml_file": "my.xml"})
    assert isinstance(pool, MujocoPool)
    assert pool.model.actuator_gear[0, 0] == 123
    env: Any = make_env("Hopper-v5", {"xml_file": "hopper.xml"}).unwrapped  # one of Gymnasium's own, by its name
    assert env.model.actuator_gear[0, 0] == 200


@pytest.mark.parametrize("bad", ["frame_skip=1.5", "frame_skip=-1", "reset_noise_scale=nan", "render_mode=human"])
def test_the_command_line_says_so_in_one_line(
    bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line.main(["train", "ppo", "--env-kwargs", bad]) == 2
    told = capsys.readouterr().err
    assert bad.partition("=")[0] in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_time_limit_has_a_limit() -> None:
    with pytest.raises(UserError, match=r"--max-episode-steps must be at most 1,000,000, not 1,000,000,000,000"):
        World(max_episode_steps=10**12).check()
    with pytest.raises(UserError, match="--max-episode-steps must be at most"):
        make_pool("Hopper-v5", 1, 0, max_episode_steps=10**12)


def test_more_environments_than_memory_are_refused_before_any_is_taken() -> None:
    with pytest.raises(UserError, match=r"a pool has from 1 to 100,000 environments, not 1,000,000,000"):
        make_pool("Ant-v5", 10**9, 0)
    with pytest.raises(UserError, match=r"99,999 environments need about .* GB, and this machine has .* fit"):
        make_pool(Stroll, 99_999, 0, max_episode_steps=1_000_000)


def test_an_id_whose_module_registers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "our_robots.py").write_text(
        "import gymnasium as gym\n"
        "from probes import Probe\n"
        "gym.register('Ours/Probe-v0', entry_point=Probe, max_episode_steps=7)\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="a file names it, not you"):
        make_pool("our_robots:Ours/Probe-v0", 2, 0, {"length": 5})
    importing.allow("our_robots:Ours/Probe-v0", "our_robots:Ours/Prob-v0", "no_such_module:Probe-v0")
    pool = make_pool("our_robots:Ours/Probe-v0", 2, 0, {"length": 5})
    assert isinstance(pool, GymPool)
    assert pool.max_episode_steps == 7
    with pytest.raises(UserError, match=r"unknown environment 'Ours/Prob-v0'"):
        make_pool("our_robots:Ours/Prob-v0", 1, 0)
    with pytest.raises(UserError, match="can't import 'no_such_module' for the environment"):
        make_pool("no_such_module:Probe-v0", 1, 0)
    gym.registry.pop("Ours/Probe-v0")


def test_a_factory_that_fails_names_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_robot.py").write_text("def make():\n    raise ValueError('no legs')\n")
    monkeypatch.chdir(tmp_path)
    importing.allow("broken_robot:make")
    with pytest.raises(UserError, match=r"can't make broken_robot:make: no legs \(broken_robot.py:2\)$"):
        make_pool("broken_robot:make", 1, 0)
