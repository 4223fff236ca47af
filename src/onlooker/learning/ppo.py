"""Proximal policy optimisation (Schulman et al. 2017): rewards in, a better policy out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from onlooker.learning import networks, normalize
from onlooker.learning.descent import Known, clipped_adam, descend
from onlooker.learning.gae import gae
from onlooker.options.bounds import NotNegative, Positive, Rate, Share, Times
from onlooker.policies.actor import Actor, PolicyOptions, Stats
from onlooker.types import Array, Metrics, Params, Steps

UNITS_MEMORY = 100  # rollouts that the units of `normalize_values` look back on
RATES = (1e-6, 3e-3)  # where a step size by `target_kl` stays


@dataclass(frozen=True)
class PPOOptions:
    """How the policy improves on a rollout."""

    learning_rate: Rate = 3e-4
    """Step size of Adam for policy and value."""
    anneal: bool = False
    """Let the learning rate, and `target_kl`, fall linearly to 0 over the run, or over `anneal_steps` if the run is
    shorter."""
    anneal_steps: Positive = 5e6
    """A shorter run learns like the beginning of one of this many steps, instead of slowing down in half the time."""
    epochs: Times = 5
    """Passes over a rollout."""
    minibatches: Times = 32
    """Gradient steps in a pass."""
    clip: Positive = 0.2
    """How far the probability ratio may move from 1."""
    discount: Rate = 0.99
    """Gamma."""
    gae_lambda: Share = 0.95
    """Lambda of GAE."""
    log_std_end: float | None = None
    """Let the log standard deviation fall to this in a straight line, over the same steps as the learning rate, instead
    of learning it: what is learned may shrink long before there is anything good to repeat."""
    log_std_within: Rate = 1.0
    """The share of those steps within which it falls; then it stays."""
    entropy_bonus: NotNegative = 0.0
    """Weight of the policy's entropy."""
    normalize_advantages: bool = True
    """Advantages with mean 0 and deviation 1 in each minibatch."""
    value_coefficient: NotNegative = 0.5
    """Weight of the value loss. Policy and value have gradients of their own, so it matters through Adam's eps only."""
    value_clip: NotNegative = 0.0
    """Let a value move by this share of its old size only (the authors' release: 0.2); 0 is off."""
    normalize_values: bool = False
    """Learn values in units of their targets' running mean and deviation: the network need not grow as large as the
    sum of all rewards to come, which takes it long where the discount is near 1."""
    target_kl: Positive | None = None
    """Let the policy's step size rise or fall by half after an update whose KL is below half or above twice this."""
    fall: NotNegative = 0.0
    """What a fall costs apart from the rewards it forgoes: this many times the present mean reward, for ever."""
    max_grad_norm: Positive = 0.5
    """Gradient norm, clipped for policy and value apart."""
    adam_eps: Positive = 1e-5
    """Adam's epsilon."""
    time_limit: Literal["bootstrap", "ignore"] = "bootstrap"
    """At a time limit: count on with the value of the true successor, or learn nothing from that step (release)."""


class Acting(NamedTuple):
    """The policy and its optimiser."""

    actor: Actor
    opt: optax.OptState
    rate: Array | None = None  # [] its step size, with `target_kl`
    calm: Array | None = None  # [] how much lower a schedule of the log standard deviation starts


class Valuing(NamedTuple):
    """The value function and its optimiser."""

    layers: list[dict[str, Array]]
    opt: optax.OptState
    stats: Stats | None = None  # of the targets, with `normalize_values`


class Batch(NamedTuple):
    """What one gradient step looks at; B rows."""

    obs: Array  # [B, D] normalised
    action: Array  # [B, A] before any tanh
    log_prob: Array  # [B] when it was drawn
    advantage: Array  # [B]
    value: Array  # [B] before this update
    target: Array  # [B] what the value should be


def init(
    key: jax.Array, obs_size: int, action_size: int, policy: PolicyOptions, options: PPOOptions
) -> tuple[Acting, Valuing]:
    """A fresh policy, and a value function that knows nothing."""
    actor_key, value_key = jax.random.split(key)
    actor = networks.init_actor(actor_key, obs_size, action_size, policy)
    layers = networks.init_mlp(value_key, (obs_size, *policy.hidden, 1), networks.orthogonal, networks.orthogonal)
    adam = _adam(options)
    rate = None if options.target_kl is None else jnp.full((), options.learning_rate, jnp.float32)
    stats = normalize.init(1) if options.normalize_values else None
    return Acting(actor, adam.init(networks.parameters(actor)), rate), Valuing(layers, adam.init(layers), stats)


def policy_loss(params: Params, batch: Batch, policy: PolicyOptions, options: PPOOptions) -> tuple[Array, Metrics]:
    """The clipped surrogate, to be minimised."""
    mean, log_std = networks.mlp(params["net"], batch.obs), networks.clamp(params["log_std"], policy)
    if options.log_std_end is not None:
        log_std = jax.lax.stop_gradient(log_std)
    log_ratio = networks.gaussian_log_prob(mean, log_std, batch.action) - batch.log_prob
    ratio = jnp.exp(log_ratio)
    advantage = batch.advantage
    if options.normalize_advantages:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - options.clip, 1 + options.clip)
    surrogate = jnp.minimum(ratio * advantage, clipped * advantage).mean()
    metrics = {
        "policy_loss": -surrogate,
        "kl": (ratio - 1 - log_ratio).mean(),  # an unbiased, never negative estimate of KL(old, new)
        "clip_fraction": (jnp.abs(ratio - 1) > options.clip).mean(),
    }
    return -surrogate - options.entropy_bonus * networks.gaussian_entropy(log_std), metrics


def value_loss(layers: Params, batch: Batch, options: PPOOptions) -> tuple[Array, Metrics]:
    """Squared error of the value, to be minimised; with `value_clip` the larger of clipped and unclipped."""
    new = networks.value(layers, batch.obs)
    error = jnp.square(new - batch.target)
    if options.value_clip > 0:
        reach = options.value_clip * jnp.abs(batch.value)
        near = batch.value + jnp.clip(new - batch.value, -reach, reach)
        error = jnp.maximum(error, jnp.square(near - batch.target))
    loss = options.value_coefficient * 0.5 * error.mean()
    return loss, {"value_loss": loss}


def improve_policy(
    acting: Acting,
    valuing: Valuing,
    steps: Steps,
    reward: Array,
    progress: Array,
    key: jax.Array,
    policy: PolicyOptions,
    options: PPOOptions,
) -> tuple[Acting, Metrics]:
    """A better policy by rewards [T, N], with the value function as it was. `progress` runs from 0 to 1 while learning
    rate and noise fall.

    The rollout was drawn with the actor's present observation statistics, so they hold throughout.
    """
    actor = acting.actor
    loss = partial(policy_loss, policy=policy, options=options)
    rows = look_back(actor, valuing, steps, reward, policy, options)
    rate = _annealed(progress, options) if acting.rate is None else acting.rate
    (params, opt), metrics = _epochs(loss, (networks.parameters(actor), acting.opt), rows, rate, key, options)
    log_std = params["log_std"]
    if options.log_std_end is not None:
        fallen = jnp.minimum(progress / options.log_std_within, 1.0)
        start = policy.log_std_init - (0.0 if acting.calm is None else acting.calm)
        now = start + fallen * (options.log_std_end - start)
        log_std = jnp.full_like(log_std, policy.shared(now, log_std.shape[0]))
    metrics["entropy"] = networks.gaussian_entropy(networks.clamp(log_std, policy))
    metrics["reward"] = reward.mean()
    next_rate = None if acting.rate is None else adapted(acting.rate, metrics["kl"], progress, options)
    if next_rate is not None:
        metrics["policy_rate"] = acting.rate
    return Acting(actor._replace(net=params["net"], log_std=log_std), opt, next_rate, acting.calm), metrics


def adapted(rate: Array, kl: Array, progress: Array | float, options: PPOOptions) -> Array:
    """The step size for the next update, after one that moved the policy by this KL."""
    assert options.target_kl is not None
    target = options.target_kl * (1 - progress if options.anneal else 1.0)
    factor = jnp.where(kl > 2 * target, 1 / 1.5, jnp.where(kl < target / 2, 1.5, 1.0))
    return jnp.clip(rate * factor, *RATES)


def improve_value(
    acting: Acting,
    valuing: Valuing,
    steps: Steps,
    reward: Array,
    progress: Array,
    key: jax.Array,
    policy: PolicyOptions,
    options: PPOOptions,
) -> tuple[Valuing, Metrics]:
    """A better value function of the policy as it was. With the same key it learns from the same minibatches."""
    rows = look_back(acting.actor, valuing, steps, reward, policy, options)
    about = {"explained_variance": 1 - (rows.target - rows.value).var() / (rows.target.var() + 1e-8)}
    if valuing.stats is not None:
        valuing = renormalized(valuing, rows.target)
        rows = rows._replace(value=_in_units(valuing, rows.value), target=_in_units(valuing, rows.target))
    loss, rate = partial(value_loss, options=options), _annealed(progress, options)
    (layers, opt), metrics = _epochs(loss, (valuing.layers, valuing.opt), rows, rate, key, options)
    return Valuing(layers, opt, valuing.stats), metrics | about


def renormalized(valuing: Valuing, target: Array) -> Valuing:
    """The same value function in the units of newer targets: the last layer makes up for what the units changed."""
    old = valuing.stats
    assert old is not None
    recent = old._replace(seen=jnp.minimum(old.seen, UNITS_MEMORY * target.size))
    new = normalize.update(recent, target[:, None])
    old_size, new_size = (jnp.sqrt(stats.var + normalize.EPS) for stats in (old, new))
    last = valuing.layers[-1]
    scaled = {"w": last["w"] * old_size / new_size, "b": (last["b"] * old_size + old.mean - new.mean) / new_size}
    return valuing._replace(layers=[*valuing.layers[:-1], scaled], stats=new)


def _in_units(valuing: Valuing, value: Array) -> Array:
    assert valuing.stats is not None
    return (value - valuing.stats.mean) / jnp.sqrt(valuing.stats.var + normalize.EPS)


def estimated(valuing: Valuing, obs: Array) -> Array:
    """Values [...] at normalised observations [..., D]."""
    value = networks.value(valuing.layers, obs)
    if valuing.stats is None:
        return value
    return value * jnp.sqrt(valuing.stats.var[0] + normalize.EPS) + valuing.stats.mean[0]


def look_back(
    actor: Actor, valuing: Valuing, steps: Steps, reward: Array, policy: PolicyOptions, options: PPOOptions
) -> Batch:
    """The whole rollout as rows: how likely each action was, and how much better than expected it turned out."""
    obs = normalize.apply(actor.stats, steps.obs)
    value = estimated(valuing, obs)
    next_value = estimated(valuing, normalize.apply(actor.stats, steps.next_obs))
    if options.fall > 0:
        cost = options.fall * jnp.maximum(reward.mean(), 0.0) / (1 - options.discount)
        reward = reward - jnp.where(steps.terminated, options.discount * cost, 0.0)
    estimate = partial(gae, discount=options.discount, gae_lambda=options.gae_lambda)
    streams = (reward, value, next_value, steps.terminated, steps.truncated)
    advantage = jax.vmap(estimate, in_axes=1, out_axes=1)(*streams)
    if options.time_limit == "ignore":
        advantage = jnp.where(steps.truncated & ~steps.terminated, 0.0, advantage)
    log_prob = networks.log_prob(actor, policy, steps.obs, steps.action)
    whole = Batch(obs, steps.action, log_prob, advantage, value, advantage + value)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), whole)


def _epochs(
    loss: Callable[[Params, Any], tuple[Array, Metrics]],
    known: Known,
    rows: Batch,
    rate: Array | float,
    key: jax.Array,
    options: PPOOptions,
) -> tuple[Known, Metrics]:
    """Passes over the rows, each in an order of its own."""
    count = rows.obs.shape[0]
    orders = jax.vmap(lambda k: jax.random.permutation(k, count))(jax.random.split(key, options.epochs))
    turns = orders.reshape(options.epochs * options.minibatches, -1)
    return descend(loss, _adam(options), rate, known, lambda turn: jax.tree.map(lambda x: x[turn], rows), turns)


def _annealed(progress: Array, options: PPOOptions) -> Array | float:
    return options.learning_rate * (1 - progress if options.anneal else 1.0)


def _adam(options: PPOOptions) -> optax.GradientTransformation:
    return clipped_adam(options.max_grad_norm, options.adam_eps)
