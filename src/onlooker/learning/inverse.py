"""The inverse dynamics model: which action led from s to s'? Learned from the imitator's own experience."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import networks, normalize, squashing
from onlooker.learning.descent import clipped_adam, descend, random_batches
from onlooker.options.bounds import Layers, Positive, Rate, Times
from onlooker.policies.actor import Stats
from onlooker.types import Array, Metrics, Params, Rows, Steps


@dataclass(frozen=True)
class InverseOptions:
    """The inverse dynamics model p(a given s, s')."""

    hidden: Layers = (64, 64)
    """Hidden layers."""
    learning_rate: Rate = 1e-3
    """Step size of Adam."""
    steps: Times = 50
    """Gradient steps an iteration."""
    batch: Times = 256
    """Transitions in a step."""
    memory: Times = 50_000
    """How many of the newest own transitions it learns from."""
    max_grad_norm: Positive = 10.0
    """Gradient norm, clipped."""


class InverseState(NamedTuple):
    """The model, its optimiser, the statistics of its inputs, and the experience."""

    net: list[dict[str, Array]]
    opt: Any
    stats: Stats
    memory: Rows  # [M, ...], filled from the front, then the oldest are replaced
    seen: Array  # [] transitions so far


class Inverse(NamedTuple):
    """The model, as pure functions."""

    init: Callable[[jax.Array], InverseState]
    """key -> state"""
    learn: Callable[[InverseState, Steps, jax.Array], tuple[InverseState, Metrics]]
    """(state, new experience, key) -> (state, metrics)"""
    infer: Callable[[InverseState, Array, Array], Array]
    """(state, s [B, D], s' [B, D]) -> actions [B, A], before any tanh"""


def inverse(obs_size: int, action_size: int, squash: bool, options: InverseOptions) -> Inverse:
    """A regression of the action on the state and its change."""
    adam = clipped_adam(options.max_grad_norm)

    def looked_at(obs: Array, next_obs: Array) -> Array:
        return jnp.concatenate([obs, next_obs - obs], -1)

    def init(key: jax.Array) -> InverseState:
        sizes = (2 * obs_size, *options.hidden, action_size)
        net = networks.init_mlp(key, sizes, networks.orthogonal, networks.uniform_fan_in)
        empty = [jnp.zeros((options.memory, size), jnp.float32) for size in (obs_size, action_size, obs_size)]
        zero = jnp.zeros((), jnp.int32)
        return InverseState(net, adam.init(net), normalize.init(2 * obs_size), Rows(*empty), zero)

    def infer(state: InverseState, obs: Array, next_obs: Array) -> Array:
        return networks.mlp(state.net, normalize.apply(state.stats, looked_at(obs, next_obs)))

    def learn(state: InverseState, steps: Steps, key: jax.Array) -> tuple[InverseState, Metrics]:
        new = Rows(*(x.reshape(-1, x.shape[-1]) for x in (steps.obs, steps.action, steps.next_obs)))
        places = (state.seen + jnp.arange(new.obs.shape[0])) % options.memory
        memory = jax.tree.map(lambda old, x: old.at[places].set(x), state.memory, new)
        seen = state.seen + new.obs.shape[0]
        stats = normalize.update(state.stats, looked_at(jnp.asarray(new.obs), jnp.asarray(new.next_obs)))

        def loss(net: Params, batch: Rows) -> tuple[Array, Metrics]:
            draw = networks.mlp(net, normalize.apply(stats, looked_at(batch.obs, batch.next_obs)))
            error = jnp.square(squashing.unit(draw, squash) - squashing.unit(batch.action, squash)).mean()
            return error, {"inverse_error": error}

        (net, opt), metrics = descend(
            loss,
            adam,
            options.learning_rate,
            (state.net, state.opt),
            random_batches(memory, options.batch, jnp.minimum(seen, options.memory)),
            jax.random.split(key, options.steps),
        )
        return InverseState(net, opt, stats, memory, seen), metrics

    return Inverse(init, learn, infer)
