"""How examples/walker.csv was made: dm_control's walker in a plain MuJoCo loop, by a policy that learned elsewhere.

    python examples/walker_recording.py walker.xml policy.npz walker.csv

The policy is from PPO, which needs a reward: Gymnasium's Walker2d with dm_control's body. That wants `rootx` to be the
first joint, so in a copy of walker.xml, swapped.xml, the lines of rootx and rootz change places:

    onlooker train ppo --env Walker2d-v5 --steps 2e6 --seed 0 --env-kwargs '{"xml_file": "swapped.xml",
        "frame_skip": 8, "healthy_z_range": [-0.2, 0.3], "healthy_angle_range": [-0.4, 0.4], "ctrl_cost_weight": 0.05}'

What is written is what a stranger would have logged: seconds, and the position of each joint by its name, 100 times a
second.
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

import onlooker

SECONDS, PHYSICS_STEPS, ROWS_EVERY = 20, 8, 4  # a control step is eight physics steps of 0.0025 s


def main(xml: Path, policy_file: Path, out: Path) -> None:
    """Play and write."""
    model = mujoco.MjModel.from_xml_path(str(xml))
    data, policy = mujoco.MjData(model), onlooker.load(policy_file)
    rows = []
    for step in range(round(SECONDS / model.opt.timestep)):
        if step % PHYSICS_STEPS == 0:
            height, _, *joints = data.qpos  # without the way along the track
            rise, speed, *turning = data.qvel
            data.ctrl[:] = policy(np.concatenate([[height, *joints], np.clip([speed, rise, *turning], -10, 10)]))
        if step % ROWS_EVERY == 0:
            rows.append([data.time, *data.qpos])
        mujoco.mj_step(model, data)
    names = ["time", *(model.joint(joint).name for joint in range(model.njnt))]
    np.savetxt(out, rows, "%.5g", ",", header=",".join(names), comments="")
    print(f"{len(rows)} rows; it went {data.joint('rootx').qpos[0]:.1f} m in {data.time:.1f} s")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
