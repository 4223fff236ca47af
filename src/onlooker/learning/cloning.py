"""Behavioural cloning: the policy that most likely gave these actions in these states."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

from onlooker.learning import networks, normalize, squashing
from onlooker.learning.descent import clipped_adam, descend, random_batches
from onlooker.options.bounds import Positive, Rate, Times
from onlooker.policies.actor import Actor, PolicyOptions
from onlooker.types import Array, Metrics, Params, Rows


@dataclass(frozen=True)
class CloningOptions:
    """How actions are cloned."""

    learning_rate: Rate = 1e-3
    """Step size of Adam."""
    steps: Times = 50
    """Gradient steps an iteration."""
    batch: Times = 256
    """Rows in a step."""
    max_grad_norm: Positive = 10.0
    """Gradient norm, clipped."""


def init(actor: Actor, options: CloningOptions) -> optax.OptState:
    """Nothing cloned yet."""
    return clipped_adam(options.max_grad_norm).init(networks.parameters(actor))


def clone(
    actor: Actor, opt: optax.OptState, rows: Rows, key: jax.Array, policy: PolicyOptions, options: CloningOptions
) -> tuple[Actor, optax.OptState, Metrics]:
    """Some gradient steps towards the actions in `rows`, by the likelihood of what the environment would be given.

    Far in its tails the tanh makes one action of many draws; comparing actions, not draws, keeps those from counting.
    """

    def loss(params: Params, batch: Rows) -> tuple[Array, Metrics]:
        mean = squashing.unit(networks.mlp(params["net"], normalize.apply(actor.stats, batch.obs)), policy.squash)
        log_std, wanted = networks.clamp(params["log_std"], policy), squashing.unit(batch.action, policy.squash)
        error = jnp.square(mean - wanted).mean()
        return -networks.gaussian_log_prob(mean, log_std, wanted).mean(), {"clone_error": error}

    known, metrics = descend(
        loss,
        clipped_adam(options.max_grad_norm),
        options.learning_rate,
        (networks.parameters(actor), opt),
        random_batches(rows, options.batch, rows.obs.shape[0]),
        jax.random.split(key, options.steps),
    )
    params, opt = known
    metrics["entropy"] = networks.gaussian_entropy(networks.clamp(params["log_std"], policy))
    return actor._replace(net=params["net"], log_std=params["log_std"]), opt, metrics
