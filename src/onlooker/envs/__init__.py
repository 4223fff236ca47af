"""Robots in worlds whose physics can be changed. Nothing in here knows about learning or imports jax."""

import os

from onlooker.errors import UserError

try:
    import mujoco  # noqa: F401
except Exception as failure:  # it loads the OpenGL that MUJOCO_GL names, and fails in many ways where that is missing
    raise UserError(
        f"MuJoCo can't start with MUJOCO_GL={os.environ.get('MUJOCO_GL')!r} ({failure}); leave it unset, "
        "or install what it names (Debian, for egl: libegl1 libgl1-mesa-dri)"
    ) from failure

from onlooker.envs.dynamics import PRESETS, Dynamics
from onlooker.envs.make import make_env, make_pool, time_limit
from onlooker.envs.pool import Pool, Transition

__all__ = ["PRESETS", "Dynamics", "Pool", "Transition", "make_env", "make_pool", "time_limit"]
