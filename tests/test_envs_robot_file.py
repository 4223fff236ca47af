"""A robot from its own XML file: defaults read off the model, settings beside it, and one line for what can't be."""

import shutil
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest

from onlooker.envs.make import make_env, make_pool
from onlooker.envs.pool import MujocoPool
from onlooker.envs.world import PRESETS, Dynamics
from onlooker.errors import UserError

HOPPER = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="trunk" pos="0 0 0.8">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <joint name="turn" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.05"/>
      <body name="leg">
        <joint name="hip" axis="0 1 0" range="-60 60" damping="1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="hip" joint="hip" gear="20" ctrllimited="true" ctrlrange="-2 3"/></actuator>
</mujoco>
"""

QUAD = """
<mujoco>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body name="trunk" pos="0 0 0.5"><freejoint/><geom type="box" size=".2 .1 .05"/><site name="imu"/>
      <body name="leg" pos=".2 0 0"><joint name="knee" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03"/></body>
    </body>
  </worldbody>
  <actuator><position joint="knee" ctrllimited="true" ctrlrange="-1 1"/></actuator>
  <sensor><gyro site="imu"/></sensor>
  <keyframe><key name="home" qpos="1 2 0.7 1 0 0 0 0.4" qvel="0.5 0 0 0 0 0 0"/></keyframe>
</mujoco>
"""


def written(folder: Path, xml: str, toml: str | None = None) -> str:
    (folder / "robot.xml").write_text(xml)
    if toml is not None:
        (folder / "robot.toml").write_text(toml)
    return str(folder / "robot.xml")


def fresh(source: str, num_envs: int = 2, **settings: Any) -> MujocoPool:
    pool = make_pool(source, num_envs, 3, **settings)
    assert isinstance(pool, MujocoPool)
    pool.reset()
    return pool


def test_what_is_usual_for_a_planar_robot(tmp_path: Path) -> None:
    pool = fresh(written(tmp_path, HOPPER))
    assert (pool.obs_size, pool.action_size, pool.max_episode_steps) == (3 + 4, 1, 1000)  # qpos but x, qvel
    assert pool.task.frame_skip == 5  # of 0.004 s
    assert (pool.action_low.tolist(), pool.action_high.tolist()) == ([-2], [3])
    assert pool.has_reward is False
    assert pool.forward_speed is None
    for _ in range(20):
        step = pool.step(np.ones((2, 1)))
        assert step.reward.tolist() == [0, 0]
        assert not step.terminated.any()
    np.testing.assert_array_equal(step.next_obs[0], [*pool.data[0].qpos[1:], *pool.data[0].qvel])
    assert pool.data[0].time == pytest.approx(20 * 0.02)


def test_what_is_usual_for_a_floating_robot(tmp_path: Path) -> None:
    pool = fresh(written(tmp_path, QUAD))
    assert pool.obs_size == (8 - 2) + 7
    assert pool.task.frame_skip == 10  # of MuJoCo's 0.002 s
    home = [0.7, 1, 0, 0, 0, 0.4, 0.5, 0, 0, 0, 0, 0, 0]  # the keyframe, but x and y
    assert np.abs(pool.obs - home).max() <= 0.0101
    assert not np.array_equal(pool.obs[0], pool.obs[1])
    turns = np.linalg.norm(pool.obs[:, 1:5], axis=1)
    np.testing.assert_allclose(turns, 1, atol=1e-12)  # noise leaves a rotation a rotation


def test_a_cart_knows_where_it_is(tmp_path: Path) -> None:
    """The root's slide is hidden only if no motor drives it and it has no end."""
    driven = HOPPER.replace('joint="hip" gear', 'joint="x" gear')
    assert fresh(written(tmp_path, driven)).obs_size == 8
    ended = HOPPER.replace('axis="1 0 0"', 'axis="1 0 0" range="-1 1"')
    assert fresh(written(tmp_path, ended)).obs_size == 8
    turned = HOPPER.replace('<body name="trunk"', '<body name="trunk" euler="0 90 0"')  # its x is the world's z
    assert fresh(written(tmp_path, turned)).obs_size == 7  # and its z the world's x
    np.testing.assert_allclose(fresh(written(tmp_path, turned)).task.observe(np.arange(8.0)[None])[0, :2], [0, 2])


def test_settings_stand_beside_it(tmp_path: Path) -> None:
    toml = """
frame_skip = 3
observe = ["place", "qpos", "sensordata", "actuator_force", "cfrc_ext", "qvel"]
time_limit = 12
noise = 0
follow = "leg"
[fallen]
height = [0.2, 5.0]
"""
    pool = fresh(written(tmp_path, QUAD, toml))
    assert (pool.task.frame_skip, pool.max_episode_steps) == (3, 12)
    assert pool.obs_size == 2 + 6 + 3 + 1 + 2 * 6 + 7
    np.testing.assert_allclose(pool.obs[0, :8], [1, 2, 0.7, 1, 0, 0, 0, 0.4])
    before = pool.data[0].body("leg").xpos[0]
    assert pool.forward_speed is not None
    assert pool.forward_speed.tolist() == [0, 0]
    step = pool.step(np.zeros((2, 1)))
    after = pool.data[0].body("leg").xpos[0]
    assert pool.forward_speed[0] == pytest.approx((after - before) / 0.006)
    assert pool.forward_speed[0] > 0.2  # the keyframe sets off at 0.5 m/s
    assert step.next_obs[0, 8:11].tolist() == pool.data[0].sensordata.tolist()
    cut = [pool.step(np.zeros((2, 1))).truncated[0] for _ in range(11)]
    assert cut == [False] * 10 + [True]


@pytest.mark.parametrize(
    ("fallen", "gravity"), [("height = [0.55, 9.0]", 1.0), ("tilt = [0, 20]", 1.0), ("height = [0.0, 0.9]", -1.0)]
)
def test_it_falls(tmp_path: Path, fallen: str, gravity: float) -> None:
    source = written(tmp_path, HOPPER, f"[fallen]\n{fallen}\n")
    pool = fresh(source, 1)
    pool.model.opt.gravity[2] *= gravity
    seen = []
    for _ in range(200):
        seen.append(pool.obs[0, :2])  # height over where it starts, and tilt
        step = pool.step(np.full((1, 1), 3.0))
        if step.terminated[0]:
            break
    assert step.terminated[0]
    assert not step.truncated[0]
    height, tilt = 0.8 + step.next_obs[0, 0], abs(np.degrees(step.next_obs[0, 1]))
    last = 0.8 + seen[-1][0], abs(np.degrees(seen[-1][1]))
    outside, before = {
        "height = [0.55, 9.0]": (height < 0.55, last[0] > 0.55),
        "tilt = [0, 20]": (tilt > 20, last[1] < 20),
        "height = [0.0, 0.9]": (height > 0.9, last[0] < 0.9),
    }[fallen]
    assert outside
    assert before
    assert np.abs(pool.obs).max() <= 0.01  # it stands again


@pytest.mark.parametrize(
    "toml", ["", 'follow = "trunk"\nobserve = ["qvel", "qpos", "cfrc_ext"]\n[fallen]\ntilt = [0, 40]\n']
)
@pytest.mark.parametrize("xml", [HOPPER, QUAD])
def test_many_equal_one_at_a_time(tmp_path: Path, xml: str, toml: str) -> None:
    source = written(tmp_path, xml, toml)
    dynamics = Dynamics(gravity=0.7, density={"leg": 2.0})
    pool = fresh(source, 2, dynamics=dynamics, max_episode_steps=70)
    twin = make_env(source, dynamics=dynamics, max_episode_steps=70)
    obs, _ = twin.reset(seed=pool.episode_seed(0))
    np.testing.assert_array_equal(pool.obs[0], obs)
    actions = np.random.default_rng(0).uniform(-1, 1, (150, 2, 1))
    for action in actions:
        step = pool.step(action)
        obs, reward, terminated, truncated, info = twin.step(action[0])
        np.testing.assert_array_equal(step.next_obs[0], obs)
        assert (reward, terminated, truncated) == (0, step.terminated[0], step.truncated[0])
        if pool.forward_speed is not None:
            assert info["forward_speed"] == pool.forward_speed[0]
        if terminated or truncated:
            obs, _ = twin.reset(seed=pool.episode_seed(0))
        np.testing.assert_array_equal(pool.obs[0], obs)


def test_it_goes_on_exactly_after_save_and_load(tmp_path: Path) -> None:
    source = written(tmp_path, QUAD)
    pool, other = fresh(source, 2, max_episode_steps=20), fresh(source, 2, max_episode_steps=20)
    for _ in range(13):
        pool.step(np.full((2, 1), 0.7))
    other.load(pool.save())
    for _ in range(15):
        np.testing.assert_array_equal(pool.step(np.ones((2, 1))).next_obs, other.step(np.ones((2, 1))).next_obs)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_apply(tmp_path: Path, preset: str) -> None:
    pool, shipped = (fresh(written(tmp_path, HOPPER), dynamics=PRESETS[name]) for name in (preset, "none"))
    changed = {
        "none": pool.model.nq,
        "low-gravity": pool.model.opt.gravity[2] / shipped.model.opt.gravity[2],
        "high-density": pool.model.body_mass[1] / shipped.model.body_mass[1],
        "high-friction": pool.model.geom_friction[1, 0] / shipped.model.geom_friction[1, 0],
        "high-damping": pool.model.dof_damping[3] / shipped.model.dof_damping[3],
    }
    assert changed[preset] == pytest.approx({"none": 4, "low-gravity": 0.5, "high-density": 2}.get(preset, 3))


def test_a_robot_from_its_file_is_as_fast_as_one_built_in(tmp_path: Path) -> None:
    shutil.copy(gym.make("Hopper-v5").unwrapped.fullpath, tmp_path / "robot.xml")  # type: ignore[attr-defined]
    (tmp_path / "robot.toml").write_text("frame_skip = 4\n[fallen]\nheight = [-9, 9]\n")
    pools = [fresh("Hopper-v5", 8, kwargs={"terminate_when_unhealthy": False}, threads=1)]
    pools.append(fresh(str(tmp_path / "robot.xml"), 8, threads=1))
    best = [np.inf, np.inf]
    for _ in range(12):  # in turns, so that what else runs on the machine slows both
        for which, pool in enumerate(pools):
            pool.reset()
            begin = time.process_time()
            for _ in range(20):
                pool.step(np.zeros((8, 3)))
            best[which] = min(best[which], time.process_time() - begin)
    assert best[1] < best[0] / 0.9


MOTOR = '<motor joint="j" ctrllimited="true" ctrlrange="-1 1"/>'
ARM = '<body name="arm"><joint name="j"/><geom size=".1"/></body>'


def tiny(world: str = ARM, actuators: str = MOTOR, more: str = "") -> str:
    return f"<mujoco>\n{more}\n<worldbody>{world}</worldbody>\n<actuator>{actuators}</actuator></mujoco>"


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        ("<mujoco><worldbody></mujoco>", "mismatched tag: line 1"),
        ("hello", "syntax error: line 1"),
        (tiny('<body><joint/><geom size=".1" colour="red"/></body>'), "line 3"),
        (tiny('<body><joint name="j"/></body>'), "mass and inertia of moving bodies"),
        (tiny(actuators=""), "has no actuators"),
        (tiny(actuators='<motor name="elbow" joint="j"/>'), "the actuator 'elbow' of"),
        (tiny(ARM + '<body name="hand" mocap="true"/>'), "the mocap body 'hand'"),
        (
            tiny(ARM + ARM.replace('"j"', '"k"').replace("arm", "leg"), MOTOR + MOTOR.replace('"j"', '"k"')),
            "has 2 robots (arm, leg)",
        ),
        (tiny(more='<option timestep="0.06"/>'), "takes 0.06 s; set <option timestep>"),
        (tiny(more='<include file="/etc/passwd"/>'), "names /etc/passwd, which is outside"),
        (tiny(more='<include file="../other.xml"/>'), "names ../other.xml, which is outside"),
        (tiny(more='<asset><mesh name="m" file="../m.obj"/></asset>'), "names ../m.obj, which is outside"),
        (tiny(more='<compiler meshdir="../.."/>'), "names ../.., which is outside"),
        (tiny(more='<asset><texture type="cube" fileup="/x.png"/></asset>'), "names /x.png, which is outside"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + tiny(), "declares entities"),
        (tiny(more='<size memory="9000G"/>'), "Could not allocate memory"),
    ],
)
def test_what_is_no_robot_is_refused(tmp_path: Path, xml: str, reason: str) -> None:
    source = written(tmp_path, xml)
    with pytest.raises(UserError) as failure:
        make_pool(source, 1, 0)
    assert reason in str(failure.value)
    assert "\n" not in str(failure.value)


def test_the_line_to_add_makes_it_a_robot(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'add ctrllimited="true" ctrlrange="-1 1"'):
        make_pool(written(tmp_path, tiny(actuators='<motor joint="j"/>')), 1, 0)
    fixed = tiny(actuators='<motor joint="j" ctrllimited="true" ctrlrange="-1 1"/>')
    assert fresh(written(tmp_path, fixed)).obs_size == 2


def test_files_within_its_folder_are_read_and_a_link_out_of_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "arm.xml").write_text(f"<mujoco><worldbody>{ARM}</worldbody></mujoco>")
    source = written(tmp_path / "robot", tiny("", more='<include file="arm.xml"/>'))
    assert fresh(source).obs_size == 2
    (tmp_path / "robot" / "arm.xml").rename(tmp_path / "arm.xml")
    (tmp_path / "robot" / "arm.xml").symlink_to(tmp_path / "arm.xml")
    with pytest.raises(UserError, match="outside of its folder"):
        make_pool(source, 1, 0)


def test_an_include_of_an_include_is_looked_over(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text('<mujoco><include file="/etc/robot.xml"/></mujoco>')
    with pytest.raises(UserError, match=r"arm.xml names /etc/robot.xml, which is outside"):
        make_pool(written(tmp_path, tiny(more='<include file="arm.xml"/>')), 1, 0)


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("frame_skp = 4", "unknown key 'frame_skp'; did you mean 'frame_skip'?"),
        ("[fallen]\nhight = [0, 1]", "unknown key 'fallen.hight'; did you mean 'height'?"),
        ("frame_skip = 1.5", "frame_skip must be a whole number from 1 to 1000, not 1.5"),
        ("frame_skip = true", "frame_skip must be a whole number"),
        ("time_limit = 0", "time_limit must be a whole number of control steps"),
        ("noise = nan", "noise must be a number from 0 to 1, not nan"),
        ("noise = -1", "noise must be a number from 0 to 1, not -1"),
        ('observe = ["qpo"]', "observe must be a list of some of place, qpos, qvel"),
        ("observe = []", "observe must be a list"),
        ('observe = ["place"]', "nothing to see"),
        ('follow = "arn"', "there is no body 'arn'; did you mean 'arm'?"),
        ("follow = 3", "follow must be the name of a body, not 3"),
        ("fallen = 3", "fallen must be a table of height and tilt"),
        ("[fallen]\nheight = [1, 0]", "fallen.height must be two numbers, low and high, in m"),
        ("[fallen]\ntilt = 3", "fallen.tilt must be two numbers"),
        ("frame_skip = ", "can't read"),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, toml: str, reason: str) -> None:
    source = written(tmp_path, tiny(), toml)
    with pytest.raises(UserError) as failure:
        make_pool(source, 1, 0)
    assert reason in str(failure.value)
    assert "\n" not in str(failure.value)


def test_other_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no file nowhere.xml"):
        make_pool("nowhere.xml", 1, 0)
    with pytest.raises(UserError, match=r"takes no keywords \(frame_skip\): write robot.toml beside it"):
        make_pool(written(tmp_path, tiny()), 1, 0, {"frame_skip": 2})


def test_tendons_drive_one_robot(tmp_path: Path) -> None:
    xml = tiny(
        actuators='<motor tendon="t" ctrllimited="true" ctrlrange="-1 1"/></actuator><tendon><fixed name="t">'
        '<joint joint="j" coef="1"/></fixed></tendon><actuator>'
    )
    pool = fresh(written(tmp_path, xml))
    assert isinstance(pool.model, mujoco.MjModel)
    assert pool.action_size == 1
