"""What every discriminator does alike: it tells the learner's rows from exemplars, a pass over a rollout at a time."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from onlooker.learning.descent import Known, descend
from onlooker.types import Array, Metrics, Params

Loss = Callable[[Params, Any, Any, jax.Array], tuple[Array, Metrics]]
"""(params, exemplars, the learner's rows, key) -> (to be minimised, metrics)"""


def one_pass(
    loss: Loss,
    adam: optax.GradientTransformation,
    rate: float,
    steps: int,
    known: Known,
    own: Any,
    sample: Callable[[jax.Array, int], Any],
    key: jax.Array,
) -> tuple[Known, Metrics]:
    """`steps` gradient steps, each on its share of the learner's rows `own` (a pytree of [B, ...]) and on fresh
    exemplars, sample(key, rows in a share)."""
    order_key, draw_key, loss_key = jax.random.split(key, 3)
    count = jax.tree.leaves(own)[0].shape[0]
    size = count // steps
    order = jax.random.permutation(order_key, count)[: size * steps].reshape(steps, size)

    def batch(turn: tuple[Array, jax.Array, jax.Array]) -> tuple[Any, Any, jax.Array]:
        rows, exemplars_key, noise_key = turn
        return sample(exemplars_key, size), jax.tree.map(lambda x: jnp.asarray(x)[rows], own), noise_key

    turns = (order, jax.random.split(draw_key, steps), jax.random.split(loss_key, steps))
    return descend(lambda params, rows: loss(params, *rows), adam, rate, known, batch, turns)


def cross_entropy(logit_real: Array, logit_own: Array) -> tuple[Array, Metrics]:
    """How badly the logits of exemplars and of the learner's rows tell them apart: 2 log 2 is a coin."""
    loss = jax.nn.softplus(-logit_real).mean() + jax.nn.softplus(logit_own).mean()
    metrics = {
        "disc_loss": loss,
        "disc_accuracy_exemplars": (logit_real > 0).mean(),
        "disc_accuracy_learner": (logit_own < 0).mean(),
    }
    return loss, metrics
