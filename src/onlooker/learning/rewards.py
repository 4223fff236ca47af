"""Reward models: where the rewards that PPO maximises come from."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import normalize
from onlooker.policies.actor import Actor, Stats
from onlooker.types import Array, Metrics, Rows, Steps

Sample = Callable[[jax.Array, int], Rows]
"""(key, n) -> n exemplars: the rows that the model is told are expert."""


class RewardModel(NamedTuple):
    """Scores steps, and learns from exemplars how to."""

    init: Callable[[jax.Array], Any]
    """key -> state"""
    score: Callable[[Any, Actor, Steps], Array]
    """(state, actor, steps) -> rewards [T, N]"""
    fit: Callable[[Any, Actor, Steps, Sample, jax.Array], tuple[Any, Metrics]]
    """(state, actor, steps, sample, key) -> (state, metrics)"""
    score_first: bool = False
    """Whether a rollout is scored with the model as it was before it is fitted to that rollout."""


class ReturnScale(NamedTuple):
    """What `env_reward` knows of the size of returns."""

    running: Array  # [N] discounted return of each environment so far in its episode
    stats: Stats  # of those


def env_reward(num_envs: int, discount: float, scale: bool) -> RewardModel:
    """The environment's own reward: for the oracle `ppo`, never for an imitator.

    With `scale`, rewards are divided by the running deviation of the discounted return, which keeps the value
    function's targets near 1 whatever the environment's units.
    """

    def init(key: jax.Array) -> ReturnScale:
        return ReturnScale(jnp.zeros(num_envs, jnp.float32), normalize.init(1))

    def score(state: ReturnScale, actor: Actor, steps: Steps) -> Array:
        reward = jnp.asarray(steps.env_reward)
        return reward / jnp.sqrt(state.stats.var + normalize.EPS) if scale else reward

    def fit(
        state: ReturnScale, actor: Actor, steps: Steps, sample: Sample, key: jax.Array
    ) -> tuple[ReturnScale, Metrics]:
        def accumulate(running: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
            reward, ended = step
            running = discount * running + reward
            return running * ~ended, running

        running, returns = jax.lax.scan(accumulate, state.running, (steps.env_reward, steps.ended))
        return ReturnScale(running, normalize.update(state.stats, returns.reshape(-1, 1))), {}

    return RewardModel(init, score, fit)
