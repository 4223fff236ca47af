"""Train a method for a few iterations on Hopper, and compare what came of it."""

from typing import Any

import jax
import numpy as np

from onlooker.collect import Collector
from onlooker.envs.make import make_pool
from onlooker.envs.pool import Pool
from onlooker.learning.updating import Updater
from onlooker.methods.compose import Problem
from onlooker.policies.acting import HostPolicy
from onlooker.types import Method, Rollout

STATES = np.random.default_rng(0).standard_normal((200, 11)).astype(np.float32)
"""Not much of a demonstration, but of Hopper's size."""


def hopper(num_envs: int = 8) -> tuple[Pool, Problem]:
    pool = make_pool("Hopper-v5", num_envs, 0, max_episode_steps=50)
    pool.reset()
    return pool, Problem(pool.obs_size, pool.action_size, num_envs, 50, 4)


def walk(
    pool: Pool, options: Any, method: Method, iterations: int, change: Any = lambda rollout: rollout
) -> tuple[Any, list, Any]:
    """Train for a few iterations; `change` tampers with each rollout before the update sees it."""
    collector, update = Collector(pool, 256 // pool.num_envs, 0), Updater(method)
    state, told = method.init(jax.random.key(0)), []
    for iteration in range(iterations):
        policy = HostPolicy(method.actor(state), options.policy, pool.action_low, pool.action_high)
        rollout = change(collector.collect(policy, iteration))
        state, metrics = update(state, rollout, np.int32(iteration), jax.random.key(iteration))
        told.append(jax.device_get(metrics))
    return state, told, update


def learned(options: Any, demo: Any, change: Any = lambda rollout: rollout) -> Any:
    """What three iterations on Hopper make of a method that watches `demo`."""
    pool, problem = hopper()
    return walk(pool, options, options.build(problem, demo), 3, change)[0]


def other_reward(rollout: Rollout) -> Rollout:
    """The same rollout, differently rewarded."""
    noise = np.random.default_rng(1).standard_normal(rollout.steps.env_reward.shape)
    return rollout._replace(steps=rollout.steps._replace(env_reward=noise.astype(np.float32)))


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
