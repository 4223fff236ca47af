"""Generalised advantage estimation (Schulman et al. 2015)."""

import jax
import jax.numpy as jnp

from onlooker.types import Array


def gae(
    reward: Array,
    value: Array,
    next_value: Array,
    terminated: Array,
    truncated: Array,
    discount: float,
    gae_lambda: float,
) -> Array:
    """Advantages [T] of one stream of steps (vmap for many).

    `next_value` is the value of the true successor. It counts where an episode was cut by its time limit, and not
    where it terminated; the trace stops at both.
    """
    error = reward + discount * next_value * ~terminated - value
    carry_on = discount * gae_lambda * ~(terminated | truncated)

    def backwards(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        error, carry_on = step
        advantage = error + carry_on * later
        return advantage, advantage

    _, advantage = jax.lax.scan(backwards, jnp.zeros((), reward.dtype), (error, carry_on), reverse=True, unroll=8)
    return advantage
