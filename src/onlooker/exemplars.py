"""Exemplars: what a reward model is told is expert."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.types import Array, Episodes, Metrics


class Exemplars(NamedTuple):
    """A source of exemplars that may grow with the learner's own episodes."""

    init: Callable[[jax.Array], Any]
    """key -> state"""
    absorb: Callable[[Any, Episodes, Array, jax.Array], tuple[Any, Metrics]]
    """(state, episodes, iteration, key) -> (state, metrics)"""
    sample: Callable[[Any, jax.Array, int], Any]
    """(state, key, n) -> n exemplars"""
    ready: Callable[[Any], Array]
    """Whether there is anything to sample yet."""


def none() -> Exemplars:
    """No exemplars: for learning from the environment's own reward."""
    return Exemplars(
        init=lambda key: (),
        absorb=lambda state, episodes, iteration, key: (state, {}),
        sample=lambda state, key, n: None,
        ready=lambda state: jnp.array(True),
    )
