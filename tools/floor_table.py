"""How hard the floor pushes back as the robot's friction grows, as a Markdown table.

    python tools/floor_table.py > table.md

Each cell: the force up on the robot in its own weights, the mean over the poses of its expert's demonstration, each at
rest and with its lowest point 5 mm deep in the floor; by the pyramidal cones of contact forces that all four robots
ship with, and by elliptic ones (`--solver elliptic`).
"""

import mujoco
import numpy as np

from onlooker import demos
from onlooker.envs.length import lift
from onlooker.envs.make import make_env
from onlooker.envs.world import ROBOTS, Dynamics

DEEP = 0.005  # m
FRICTIONS = (1.0, 2.0, 3.0)
CONES = ("", "elliptic")


def push(robot: str, dynamics: Dynamics) -> float:
    """The floor's force up, in weights of the robot."""
    model = make_env(f"{robot}-v5", dynamics=dynamics).unwrapped.model  # type: ignore[attr-defined]
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)  # nothing but the floor pushes
    data, force = mujoco.MjData(model), np.zeros(6)
    unseen = 2 if robot == "Ant" else 1  # where it is on the floor
    states = demos.load(robot.lower()).obs
    up = 0.0
    for state in states:
        data.qpos[unseen:] = state[: model.nq - unseen]
        lift(model, data.qpos, -DEEP)
        mujoco.mj_forward(model, data)
        for number, contact in enumerate(data.contact):
            if 0 in (contact.geom1, contact.geom2):  # the floor
                mujoco.mj_contactForce(model, data, number, force)
                up += abs(contact.frame[2]) * force[0]  # the first axis is the contact's normal
    return up / len(states) / (mujoco.mj_getTotalmass(model) * float(np.linalg.norm(model.opt.gravity)))


def main() -> None:
    """Print the table."""
    worlds = [Dynamics(solver=cone, friction=factor) for cone in CONES for factor in FRICTIONS]
    print("| robot | " + " | ".join(f"{world.solver or 'pyramidal'}, x{world.friction:g}" for world in worlds) + " |")
    print("|---" + "|---:" * len(worlds) + "|")
    for robot in ROBOTS:
        print(f"| {robot} | " + " | ".join(f"{push(robot, world):.2f}" for world in worlds) + " |", flush=True)


if __name__ == "__main__":
    main()
