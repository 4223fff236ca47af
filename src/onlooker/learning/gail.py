"""The GAIL reward model: a discriminator over states, state pairs, or states and actions; its logit is the reward."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.errors import UserError
from onlooker.learning import discriminator, networks, normalize, squashing
from onlooker.learning.descent import clipped_adam
from onlooker.learning.rewards import RewardModel, Sample
from onlooker.options.bounds import Layers, NotNegative, Positive, Rate, Times
from onlooker.policies.actor import Actor, Stats
from onlooker.types import Array, Metrics, Params, Rows, Steps

Sees = Literal["states", "state pairs", "actions"]
"""What of a row the discriminator looks at: s, (s, s'), or (s, a)."""
Form = Literal["softplus", "log-d", "logit"]
"""-log(1 - D), log D, or log D - log(1 - D), with D the probability that a row is an exemplar."""


@dataclass(frozen=True)
class GAILOptions:
    """The GAIL discriminator D."""

    hidden: Layers = (64, 64)
    """Hidden layers."""
    learning_rate: Rate = 3e-4
    """Step size of Adam."""
    steps: Times = 5
    """Gradient steps an iteration; each takes its share of the rollout, so that they make one pass."""
    reward: Form = "softplus"
    """softplus: -log(1 - D), always positive, so staying alive pays. log-d: always negative, so ending early pays.
    logit: log D - log(1 - D), of either sign."""
    gradient_penalty: NotNegative = 1.0
    """Weight of (|gradient| - 1)^2 between exemplars and the learner's rows; 0 is off."""
    normalize: Literal["learner", "both", "none"] = "learner"
    """Look at inputs in units of the deviation of the learner's rows, of the learner's and the exemplars', or raw."""
    absorbing: bool = False
    """After a fall, go on in an absorbing state for ever, which is rewarded like any other."""
    max_grad_norm: Positive = 10.0
    """Gradient norm, clipped."""
    score_first: bool = False
    """Score the rollout with D as it was before this iteration's fit, or after it."""


class Discriminator(NamedTuple):
    """The network, its optimiser, and the statistics of its inputs."""

    net: list[dict[str, Array]]
    opt: Any
    stats: Stats


def reward_of(logit: Array, form: Form) -> Array:
    """The reward for a logit of D, in one of its three forms."""
    if form == "softplus":
        return jax.nn.softplus(logit)
    return -jax.nn.softplus(-logit) if form == "log-d" else logit


def gail(
    sees: Sees,
    sizes: tuple[int, int],
    match: Callable[[Array], Array],
    squash: bool,
    discount: float,
    options: GAILOptions,
) -> RewardModel:
    """Generative adversarial imitation (Ho and Ermon 2016), from what `sees` names.

    sizes: (compared entries of a state, actions). match: picks those entries from the learner's observations [..., D];
    exemplars hold nothing else already. squash: look at tanh(action).
    """
    state_size, action_size = sizes
    size = {"states": state_size, "state pairs": 2 * state_size, "actions": state_size + action_size}[sees]
    if options.absorbing and discount == 1:
        raise UserError("--discriminator.absorbing needs a --ppo.discount below 1: for ever has no sum without one")
    forever = 1 / (1 - discount) if options.absorbing else 0.0  # steps in the absorbing state, as discounted
    adam = clipped_adam(options.max_grad_norm)

    def looked_at(rows: Rows) -> Array:
        if sees == "states":
            return rows.obs
        if sees == "state pairs":
            return jnp.concatenate([rows.obs, rows.next_obs], -1)
        return jnp.concatenate([rows.obs, squashing.unit(rows.action, squash)], -1)

    def inputs(stats: Stats, rows: Rows) -> Array:
        x = looked_at(rows)
        x = x if options.normalize == "none" else normalize.apply(stats, x)
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, 1)]) if options.absorbing else x  # the flag is 0: alive

    # The absorbing state: nothing but its flag.
    absorbed = jnp.zeros(size + 1, jnp.float32).at[-1].set(1.0)

    def own_rows(steps: Steps) -> Rows:
        return Rows(match(jnp.asarray(steps.obs)), steps.action, match(jnp.asarray(steps.next_obs)), steps.terminated)

    def init(key: jax.Array) -> Discriminator:
        layers = (size + options.absorbing, *options.hidden, 1)
        net = networks.init_mlp(key, layers, networks.uniform_fan_in, networks.uniform_fan_in)
        return Discriminator(net, adam.init(net), normalize.init(size))

    def score(state: Discriminator, actor: Actor, steps: Steps) -> Array:
        reward = reward_of(networks.value(state.net, inputs(state.stats, own_rows(steps))), options.reward)
        if options.absorbing:
            after = discount * forever * reward_of(networks.value(state.net, absorbed), options.reward)
            reward += jnp.where(steps.terminated, after, 0.0)
        return reward

    def loss(net: Params, stats: Stats, real: Rows, own: Rows, key: jax.Array) -> tuple[Array, Metrics]:
        x_real, x_own = inputs(stats, real), inputs(stats, own)
        logit_real, logit_own = networks.value(net, x_real), networks.value(net, x_own)
        total, metrics = discriminator.cross_entropy(logit_real, logit_own)
        metrics |= {"disc_logit_exemplars": logit_real.mean(), "disc_logit_learner": logit_own.mean()}
        if options.absorbing:
            logit = networks.value(net, absorbed)
            total += forever * jax.nn.softplus(-logit) * _share(real) + forever * jax.nn.softplus(logit) * _share(own)
        if options.gradient_penalty > 0:
            steepness = networks.gradient_penalty(lambda x: networks.value(net, x), x_real, x_own, key)
            total += options.gradient_penalty * steepness
        return total, metrics

    def fit(
        state: Discriminator, actor: Actor, steps: Steps, sample: Sample, key: jax.Array
    ) -> tuple[Discriminator, Metrics]:
        pass_key, stats_key = jax.random.split(key)
        own = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), own_rows(steps))
        stats = normalize.update(state.stats, looked_at(own))
        if options.normalize == "both":
            stats = normalize.update(stats, looked_at(sample(stats_key, own.obs.shape[0])))
        (net, opt), metrics = discriminator.one_pass(
            lambda net, real, share, mix_key: loss(net, stats, real, share, mix_key),
            adam,
            options.learning_rate,
            options.steps,
            (state.net, state.opt),
            own,
            sample,
            pass_key,
        )
        return Discriminator(net, opt, stats), metrics

    return RewardModel(init, score, fit, options.score_first)


def _share(rows: Rows) -> Array:
    """How many of the rows end in the absorbing state."""
    return 0.0 if rows.terminated is None else rows.terminated.mean()
