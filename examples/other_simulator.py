"""The shipped HalfCheetah expert in another simulator, so to say: a plain MuJoCo loop that computes differently.

    python examples/other_simulator.py elsewhere.csv

A fifth of the timestep, another integrator (RK4 for Euler), another contact model (elliptic cones, contacts that
give way for half the time). What is written is what a stranger would have logged: seconds and the positions of the
joints, 100 times a second.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

import onlooker
from onlooker.envs.make import make_env

SECONDS, CONTROL_STEP, ROW_EVERY = 50, 0.05, 0.01


def simulator() -> mujoco.MjModel:
    """HalfCheetah as the other simulator has it."""
    model = mujoco.MjModel.from_xml_path(make_env("HalfCheetah-v5").unwrapped.fullpath)  # type: ignore[attr-defined]
    model.opt.timestep = 0.002
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.geom_solref[:] = (0.01, 1)
    return model


def main(out: Path) -> None:
    """Play and write."""
    model = simulator()
    data, policy, rows = mujoco.MjData(model), onlooker.load("halfcheetah"), []
    for step in range(round(SECONDS / model.opt.timestep)):
        if step % round(CONTROL_STEP / model.opt.timestep) == 0:
            data.ctrl[:] = policy(np.concatenate([data.qpos[1:], data.qvel]))
        if step % round(ROW_EVERY / model.opt.timestep) == 0:
            rows.append([data.time, *data.qpos])
        mujoco.mj_step(model, data)
    names = ["time", *(model.joint(joint).name for joint in range(model.njnt))]
    np.savetxt(out, rows, "%.6g", ",", header=",".join(names), comments="")
    print(f"{len(rows)} rows; it went {data.qpos[0]:.0f} m in {data.time:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
