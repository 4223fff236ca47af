"""A recording on its robot: poses by hand, joints out of their range, feet in the floor, and a film."""

import functools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from onlooker import config, start
from onlooker.__main__ import main
from onlooker.demos import Demos, load, replay, save, simulated
from onlooker.demos.body import Body, Joint
from onlooker.envs.engine import mujoco

pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX; ffmpeg is no fork of us
CART = Body("Cart-v0", (Joint("way", "slide", 0, 0), Joint("pole", "hinge", 1, 1, -0.5, 0.5)), 0.1, (1, 2, 3))
ROBOT = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="trunk" pos="0 0 0.8">
      <joint name="z" type="slide" axis="0 0 1"/><joint name="x" type="slide" axis="1 0 0"/>
      <geom name="ball" size="0.1"/>
      <body name="leg">
        <joint name="hip" axis="0 1 0" range="-60 60" damping="1"/>
        <geom name="shank" type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip" ctrllimited="true" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


@functools.cache
def why_not() -> str:
    """Why this machine can't draw off-screen, or nothing. Asked in a process of its own: OpenGL may bring one down."""
    script = "from onlooker.envs.render import filming\nwith filming('Hopper-v5'): pass"
    tried = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return (tried.stderr.strip().splitlines() or ["no reason given"])[-1] if tried.returncode else ""


def test_poses_are_what_is_recorded_and_where_velocities_lead():
    obs = np.array([[0.1, 2.0, 0.0], [0.2, 4.0, 0.0], [0.3, 9.0, 0.0]])
    found = replay.poses(Demos(obs), CART, np.array([5.0, 0.0]))
    np.testing.assert_allclose(found, [[5, 0.1], [5.2, 0.2], [5.6, 0.3]], atol=1e-6)
    some = Demos(obs[:, 1:2], meta={"match_dims": [1]})
    np.testing.assert_allclose(replay.poses(some, CART, np.array([5.0, 0.7]))[:, 1], 0.7)
    assert replay.unknown(some, CART) == ["pole"]
    assert replay.unknown(Demos(obs), CART) == []


def test_joints_that_leave_their_range_are_named():
    qpos = np.array([[99.0, 0.4], [0.0, -0.8], [0.0, 0.6], [0.0, 0.0]])
    assert replay.strayed(qpos, CART) == ["pole leaves its range -0.5 to 0.5 by 0.3 rad at row 1, in 50% of the states"]
    assert replay.strayed(qpos[3:], CART) == []
    assert replay.strayed(qpos, CART, but=["pole"]) == []  # it is not recorded: it stands as the robot starts


def test_a_geom_in_the_floor_is_named_with_its_depth():
    model = mujoco.MjModel.from_xml_string(ROBOT)
    qpos = np.zeros((4, 3))  # z, x, hip: the leg's end hangs 0.8 - 0.5 - 0.04 above the floor
    assert replay.sunk(qpos, model) == (0.0, "", 0)
    qpos[2, 0] = -0.5
    depth, geom, row = replay.sunk(qpos, model)
    assert (geom, row) == ("shank", 2)
    assert depth == pytest.approx(0.24)


def test_a_robot_of_your_own_from_a_table_to_a_replay(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.xml").write_text(ROBOT)
    body = simulated.body_of("mine.xml")
    assert body.entries == ("z", "hip", "z_vel", "x_vel", "hip_vel")  # x is hidden, and not the first
    t = np.arange(240) / 120
    table = np.stack([np.degrees(0.9 * np.sin(3 * t)), -0.3 + 0 * t, 2 * t], axis=1)
    np.savetxt("swing.csv", table, "%.9g", ",", header="left hip,z,x", comments="")
    words = ["--env", "mine.xml", "--rate", "120", "--degrees", "--map", "left hip=hip", "--out", "swing.npz"]
    assert main(["demos", "import", "swing.csv", *words]) == 0
    demo = load("swing.npz")
    assert demo.match_dims() is None
    assert len(demo.obs) == 1 + int(239 / 120 / body.dt)
    np.testing.assert_allclose(demo.obs[:, 3], 2, atol=1e-4)
    capsys.readouterr()
    assert main(["demos", "check", "swing.npz", "--env", "mine.xml"]) == 0
    assert capsys.readouterr().out.startswith("fine:")
    table[:, 0] = np.radians(table[:, 0])
    np.savetxt("plain.csv", np.column_stack([t, table]), "%.9g", ",", header="time,hip,z,x", comments="")
    assert main(["demos", "check", "plain.csv", "--robot", "mine.xml"]) == 0  # the same without being imported
    assert capsys.readouterr().out.startswith("fine: plain.csv: 100 states of 5 numbers")
    watched = start.show(config.make("i2l", env="mine.xml", demo="plain.csv"))
    np.testing.assert_allclose(watched.obs, demo.obs, atol=1e-5)
    assert main(["demos", "check", "swing.npz"]) == 0  # a file does not choose what is compiled
    assert "not compared with the environment that it names, 'mine.xml': give it with --env" in capsys.readouterr().out
    for words in (
        ["train", "i2l", "--demo", "swing.csv", "--env", "mine.xml"],
        ["demos", "show", "swing.csv", "--robot", "mine.xml"],
    ):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert "swing.csv: column 'left hip' names no joint of mine.xml" in said
        assert "`onlooker demos import` takes --rate, --map" in said
        assert said.count("\n") == 1
    assert replay.remarks(demo, "mine.xml") == [
        "no joint leaves its range",
        "shank sinks 0.04 m into the floor at row 0",
    ]


def test_shipped_recordings_stay_on_the_floor():
    for name, env in (("halfcheetah", "HalfCheetah-v5"), ("ant", "Ant-v5")):
        assert 0 < replay.sunk(*_poses_and_model(name, env))[0] < 0.1  # contacts are soft
    lifted = load("halfcheetah")
    obs = lifted.obs.copy()
    obs[:, 0] -= 0.3
    assert any(
        "into the floor" in line and "nothing" not in line
        for line in replay.remarks(replace(lifted, obs=obs), "HalfCheetah-v5")
    )


def _poses_and_model(name: str, env: str) -> tuple[np.ndarray, mujoco.MjModel]:
    from onlooker.envs.make import make_env

    made = make_env(env)
    base = made.unwrapped
    return replay.poses(load(name), simulated.body_of(env), base.init_qpos), base.model  # type: ignore[attr-defined]


def test_what_can_not_be_replayed_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(save(tmp_path / "x.npz", Demos(np.random.default_rng(0).normal(size=(9, 3)))))
    for words, message in {
        ("--film", "x.mp4"): "names no environment of Gymnasium's",
        ("--env", "Pendulum-v1"): "does not tell where its joints are",
        ("--env", "Hopper-v5"): "has 3 numbers, but a state of Hopper-v5 has 11",
        ("--env", "Hopper-v5", "--film", "x.png"): "must end in .mp4 or .gif",
        ("--env", "Hoper-v5"): "Hopper-v5",
    }.items():
        assert main(["demos", "show", path, *words]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1


def test_a_film_of_some_joints(tmp_path, capsys, monkeypatch):
    if why_not():
        pytest.skip(f"no off-screen rendering on this machine: {why_not()}")
    monkeypatch.chdir(tmp_path)
    obs = load("halfcheetah").obs[:20, 2:8]
    path = save(tmp_path / "legs.npz", Demos(obs, meta={"env": "HalfCheetah-v5", "match_dims": list(range(2, 8))}))
    assert main(["demos", "show", str(path), "--env", "HalfCheetah-v5", "--film", "legs.gif"]) == 0
    said = capsys.readouterr().out
    assert "not recorded, so replayed as at the start: rootz, rooty" in said
    assert "the film is in legs.gif" in said
    assert Path("legs.gif").read_bytes().startswith(b"GIF8")
    frames, fps = replay.film(load(path), "HalfCheetah-v5")
    assert len(frames) == 20
    assert fps == pytest.approx(20)
    assert (frames[0] != frames[10]).any()


def test_without_a_renderer_the_rest_is_still_said(tmp_path):
    env = os.environ | {"MUJOCO_GL": "glfw", "DISPLAY": ""}
    line = [sys.executable, "-m", "onlooker", "demos", "show", "hopper", "--env", "Hopper-v5"]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "foot_joint leaves its range" in done.stdout
    assert "no film: can't draw off-screen" in done.stdout
    assert (tmp_path / "hopper.png").exists()
