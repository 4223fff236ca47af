"""Between what a Gaussian policy draws and what an environment is given: a tanh into the action's bounds, or none."""

import jax.numpy as jnp
import numpy as np

from onlooker.types import Array

EDGE = 1 - 1e-6  # a recorded action at its bound is taken for this much of it, so that its atanh is finite


def unit(draw: Array, squash: bool) -> Array:
    """Draws [..., A] in units of the action's bounds, as models look at them."""
    return jnp.tanh(draw) if squash else draw


def within_bounds(action: np.ndarray, low: Array, high: Array) -> np.ndarray:
    """Where actions [T, A] lie between their bounds: -1 is the lower one, 1 the upper."""
    low, high = np.reshape(low, -1), np.reshape(high, -1)
    return (action - (high + low) / 2) / ((high - low) / 2)


def as_drawn(action: np.ndarray, low: Array, high: Array, squash: bool) -> np.ndarray:
    """Actions [T, A] of an environment as a policy would draw them: through the inverse of tanh, if it squashes."""
    if not squash:
        return action
    return np.arctanh(np.clip(within_bounds(action, low, high), -EDGE, EDGE)).astype(np.float32)
