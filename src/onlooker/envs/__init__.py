"""Robots in worlds whose physics can be changed. Nothing in here knows about learning or imports jax."""

from onlooker.envs.dynamics import PRESETS, Dynamics
from onlooker.envs.make import make_env, make_pool
from onlooker.envs.pool import Pool, Transition

__all__ = ["PRESETS", "Dynamics", "Pool", "Transition", "make_env", "make_pool"]
