"""What a policy that leaves the house says of itself: robot, physics, version, and what each number means."""

import json
from typing import Any

import numpy as np

from onlooker import __version__
from onlooker.demos.simulated import body_of
from onlooker.envs.engine import mujoco
from onlooker.envs.make import make_env
from onlooker.policies.policy import Policy


def describe(policy: Policy) -> dict[str, str]:
    """Texts by name, as ONNX and safetensors files keep them; lists and objects are JSON."""
    world = policy.world
    low, high = policy.limits
    told = {
        "producer": "onlooker",
        "version": __version__,
        "robot": world.env,
        "env_kwargs": world.env_kwargs,
        "physics": world.resolve().changes,
        "world": {name: value for name, value in vars(world).items() if value is not None},
        "about": policy.meta,
        "observation_names": observation_names(policy),
        "action_names": action_names(policy),
        "action_low": low.tolist(),
        "action_high": high.tolist(),
    }
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in told.items()}


def observation_names(policy: Policy) -> list[str]:
    """Joints and their velocities by name; `obs_7` for what is neither."""
    names = body_of(policy.world.env, policy.world.env_kwargs).entries
    return [name or f"obs_{number}" for number, name in enumerate(names)]


def action_names(policy: Policy) -> list[str]:
    """The actuators, or the joints that those without a name drive; `action_0` where there is no MuJoCo robot."""
    world = policy.world
    env = make_env(world.env, world.env_kwargs, None, world.max_episode_steps)
    model: Any = getattr(env.unwrapped, "model", None)
    env.close()
    if not isinstance(model, mujoco.MjModel) or model.nu != policy.action_size:
        return [f"action_{number}" for number in range(policy.action_size)]
    joints = np.asarray(model.actuator_trnid)[:, 0]
    return [model.actuator(i).name or model.joint(int(joints[i])).name or f"action_{i}" for i in range(model.nu)]
