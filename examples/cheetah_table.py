"""The shipped HalfCheetah recording as somebody else's log: joint positions at 100 Hz, in degrees, columns shuffled.

    python examples/cheetah_table.py walk.csv

Played again in MuJoCo, one row a physics step. It has no velocities.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

from onlooker import demos
from onlooker.envs.make import make_env

COLUMNS = ("fshin", "rootz", "bfoot", "time", "ffoot", "rootx", "bthigh", "rooty", "fthigh", "bshin")
PHYSICS_STEPS = 5  # in a control step


def played() -> tuple[mujoco.MjModel, np.ndarray]:
    """The robot, and its positions [T, 9] after each physics step."""
    demo = demos.load("halfcheetah-actions")
    assert demo.action is not None
    model = mujoco.MjModel.from_xml_path(make_env("HalfCheetah-v5").unwrapped.fullpath)  # type: ignore[attr-defined]
    data, rows = mujoco.MjData(model), []
    for state, action in zip(demo.obs, demo.action):
        data.qpos[1:], data.qvel[:] = state[:8], state[8:]  # where along the track is not recorded: MuJoCo finds out
        data.ctrl[:] = np.clip(action, -1, 1)
        for _ in range(PHYSICS_STEPS):
            rows.append(data.qpos.copy())
            mujoco.mj_step(model, data)
    return model, np.array(rows)


def write(path: Path) -> None:
    """Write the table."""
    model, qpos = played()
    columns = {"time": model.opt.timestep * np.arange(len(qpos))}
    for joint in range(model.njnt):
        column = qpos[:, model.jnt_qposadr[joint]]
        turns = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_HINGE)
        columns[model.joint(joint).name] = np.degrees(column) if turns else column
    table = np.stack([columns[name] for name in COLUMNS], axis=1)
    np.savetxt(path, table, "%.6g", ",", header=",".join(COLUMNS), comments="")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
