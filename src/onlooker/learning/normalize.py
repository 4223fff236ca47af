"""Running mean and variance of a stream of batches."""

import jax.numpy as jnp

from onlooker.policies.actor import CLIP, EPS, Stats
from onlooker.types import Array


def init(size: int) -> Stats:
    """Nothing seen: mean 0, variance 1, so that normalising changes nothing but the clip."""
    return Stats(jnp.zeros(size, jnp.float32), jnp.ones(size, jnp.float32), jnp.zeros((), jnp.float32))


def update(stats: Stats, rows: Array) -> Stats:
    """Merge rows [..., D] in, by the parallel form of Welford's sums (Chan et al.)."""
    rows = rows.reshape(-1, rows.shape[-1])
    seen = stats.seen + rows.shape[0]
    share = rows.shape[0] / seen  # of the new rows among all
    delta = rows.mean(0) - stats.mean
    var = stats.var * (1 - share) + rows.var(0) * share + jnp.square(delta) * share * (1 - share)
    return Stats(stats.mean + delta * share, var, seen)


def apply(stats: Stats, rows: Array) -> Array:
    """Rows [..., D] with mean 0 and variance 1, clipped."""
    return jnp.clip((rows - stats.mean) / jnp.sqrt(stats.var + EPS), -CLIP, CLIP)
