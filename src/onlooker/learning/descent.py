"""Gradient descent by clipped Adam: the part that all learned models share."""

from collections.abc import Callable
from typing import Any

import jax
import optax

from onlooker.types import Array, Metrics, Params

Known = tuple[Params, Any]
"""(parameters, Adam's state)"""


def clipped_adam(max_grad_norm: float, eps: float = 1e-8) -> optax.GradientTransformation:
    """Adam without a learning rate. One flat vector instead of many small arrays: fewer, larger operations."""
    return optax.flatten(optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam(eps=eps)))


def descend(
    loss: Callable[[Params, Any], tuple[Array, Metrics]],
    adam: optax.GradientTransformation,
    rate: Array | float,
    known: Known,
    batch: Callable[[Any], Any],
    turns: Any,
) -> tuple[Known, Metrics]:
    """A gradient step on batch(turn) for each of the turns (a pytree of [steps, ...]); the metrics' means."""

    def step(known: Known, turn: Any) -> tuple[Known, Metrics]:
        params, opt = known
        grads, metrics = jax.grad(loss, has_aux=True)(params, batch(turn))
        direction, opt = adam.update(grads, opt)
        return (jax.tree.map(lambda p, d: p - rate * d, params, direction), opt), metrics

    known, metrics = jax.lax.scan(step, known, turns)
    return known, {name: values.mean() for name, values in metrics.items()}


def random_batches(rows: Any, size: int, count: Array | int) -> Callable[[jax.Array], Any]:
    """key -> `size` rows drawn from the first `count` of a pytree of [B, ...], any of them perhaps twice."""

    def batch(key: jax.Array) -> Any:
        chosen = jax.random.randint(key, (size,), 0, count)
        return jax.tree.map(lambda x: x[chosen], rows)

    return batch
