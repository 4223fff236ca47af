"""A run of a robot from its file keeps a copy of it: moved, changed or gone, the original is not needed again."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onlooker
from onlooker import config
from onlooker.__main__ import main
from onlooker.envs.make import make_env, make_pool
from onlooker.envs.robot_copy import keep
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.interrupts import Interrupted
from onlooker.loop import train
from onlooker.start import begin, resume

CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1))
CUBE += "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
ROBOT = """<mujoco><compiler meshdir="parts/shapes"/><include file="parts/floor.xml"/>
  <worldbody><body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0" damping="0.1"/><geom type="mesh" mesh="cube"/>
  </body></worldbody>
  <actuator><motor joint="j" ctrllimited="true" ctrlrange="-1 1" gear="0.1"/></actuator></mujoco>"""
FLOOR = """<mujoco><asset><mesh name="cube" file="cube.obj"/></asset>
  <worldbody><geom type="plane" size="9 9 1"/></worldbody></mujoco>"""
SMALL: dict[str, Any] = {"num_envs": 2, "steps_per_iteration": 64, "steps": 640, "policy": {"hidden": [8]}}
SMALL |= {"ppo": {"epochs": 1, "minibatches": 2}, "max_episode_steps": 20}
STATES = np.stack([np.sin(np.arange(60) * 0.014), np.cos(np.arange(60) * 0.014)], axis=1)  # 7 steps of 0.002 s


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """The XML includes a file in a folder below, which names a mesh in a folder that the first one named."""
    folder = tmp_path / "robots"
    (folder / "parts" / "shapes").mkdir(parents=True)
    (folder / "arm.xml").write_text(ROBOT)
    (folder / "arm.toml").write_text('frame_skip = 7\nfollow = "arm"\n')
    (folder / "parts" / "floor.xml").write_text(FLOOR)
    (folder / "parts" / "shapes" / "cube.obj").write_text(CUBE)
    (folder / "notes.txt").write_text("of no use to MuJoCo")
    return folder / "arm.xml"


def told(run: Path) -> tuple[bytes, dict[str, Any]]:
    result = json.loads((run / "result.json").read_text())
    del result["hours"]
    return (run / "metrics.csv").read_bytes(), result


def test_a_run_goes_on_bit_for_bit_wherever_one_is_and_whatever_became_of_the_robot(
    robot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = config.make("gail-s", env="robots/arm.xml", **SMALL)
    train(begin(made, Path("whole"), STATES))

    def stop(iteration: int, metrics: dict[str, float]) -> None:
        if iteration == 5:
            raise Interrupted

    with pytest.raises(Interrupted):
        train(begin(made, Path("half"), STATES), checkpoint_seconds=0, listener=stop)
    kept = {str(file.relative_to("half/robot")) for file in Path("half/robot").rglob("*") if file.is_file()}
    assert kept == {"arm.xml", "arm.toml", "parts/floor.xml", "parts/shapes/cube.obj"}
    robot.write_text(ROBOT.replace('gear="0.1"', 'gear="9"'))
    (robot.parent / "parts" / "floor.xml").unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    train(resume(Path("../half")))
    assert told(tmp_path / "half") == told(tmp_path / "whole")

    shutil.rmtree(robot.parent)
    shutil.move(tmp_path / "half", tmp_path / "elsewhere" / "moved")
    assert main(["evaluate", "moved", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert (judged["return_mean"], judged["return_std"], judged["length_mean"]) == (None, None, 20)  # it has no reward
    assert judged["forward_speed_mean"] == told(Path("moved"))[1]["eval_forward_speed_mean"]
    assert main(["evaluate", "moved", "--episodes", "2"]) == 0
    said = capsys.readouterr().out
    assert f"no reward is known, forward speed {judged['forward_speed_mean']:.2f} m/s, length 20, 2 episodes" in said
    policy = onlooker.load("moved/policy.npz")
    assert policy(STATES[0]).shape == (1,)
    assert policy.world.env == str(Path("moved/robot/arm.xml"))


def test_the_keyword_xml_file_is_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env: Any = make_env("Hopper-v5").unwrapped
    Path("my.xml").write_text(Path(env.fullpath).read_text().replace('gear="200.0"', 'gear="123.0"'))
    world = World(env="Hopper-v5", env_kwargs={"xml_file": "my.xml", "frame_skip": 3})
    keep(world, Path("kept"))
    Path("my.xml").unlink()
    here = world.kept_in(Path("kept"))
    pool: Any = make_pool(here.env, 1, 0, here.env_kwargs)
    assert (pool.model.actuator_gear[0, 0], pool.task.frame_skip) == (123, 3)


@pytest.mark.parametrize("keywords", [{}, {"xml_file": "hopper.xml"}])
def test_what_ships_needs_no_copy(tmp_path: Path, keywords: dict[str, Any]) -> None:
    world = World(env="Hopper-v5", env_kwargs=keywords)
    keep(world, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    assert world.kept_in(tmp_path / "kept") == world


def test_a_robot_that_lacks_a_file_leaves_no_folder(robot: Path, tmp_path: Path) -> None:
    (robot.parent / "parts" / "shapes" / "cube.obj").unlink()
    with pytest.raises(UserError, match=r"can't compile .*cube\.obj"):
        begin(config.make("i2l", env=str(robot), **SMALL), tmp_path / "run", STATES)
    assert not (tmp_path / "run").exists()
