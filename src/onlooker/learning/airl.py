"""The AIRL reward model: a discriminator whose logit is f(s, a) - log pi(a|s), so that f becomes a reward."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import discriminator, networks, normalize, squashing
from onlooker.learning.descent import clipped_adam
from onlooker.learning.rewards import RewardModel, Sample
from onlooker.options.bounds import Layers, NotNegative, Positive, Rate, Times
from onlooker.policies.actor import Actor, PolicyOptions, Stats
from onlooker.types import Array, Metrics, Params, Rows, Steps


@dataclass(frozen=True)
class AIRLOptions:
    """The AIRL discriminator D = exp f / (exp f + pi(a|s)), with f(s, a) learned and pi filled in."""

    hidden: Layers = (64, 64)
    """Hidden layers of f."""
    learning_rate: Rate = 3e-4
    """Step size of Adam."""
    steps: Times = 5
    """Gradient steps an iteration; each takes its share of the rollout, so that they make one pass."""
    exemplars: Times = 1000
    """Exemplars in a gradient step."""
    reward: Literal["f", "f-log-pi"] = "f"
    """What PPO is given: f alone (release), or log D - log(1 - D) = f - log pi (paper)."""
    density: Literal["gaussian", "squashed"] = "gaussian"
    """The log pi filled in: of the draw before the tanh (release), or of the action itself."""
    per_action: bool = True
    """Divide log pi by the number of actions."""
    log_z: bool = True
    """Learn a scalar, 1 at the start, that is added to log pi."""
    positive_penalty: NotNegative = 2.0
    """Weight of relu(-f) over both classes: keeps rewards positive, a survival bonus."""
    gradient_penalty: NotNegative = 0.0
    """Weight of (|gradient of f| - 1)^2 between exemplars and the learner's rows; 0 is off."""
    normalize: Literal["learner", "both"] = "learner"
    """Look at states and actions in units of the deviation of the learner's rows, or of the learner's and the
    exemplars' (release)."""
    max_grad_norm: Positive = 10.0
    """Gradient norm, clipped."""
    score_first: bool = True
    """Score the rollout with f as it was before this iteration's fit (release), or after it (paper)."""


class Discriminator(NamedTuple):
    """f, log Z, their optimiser, and the statistics of (state, action)."""

    params: Params
    opt: Any
    stats: Stats


class Pairs(NamedTuple):
    """What the discriminator looks at; B rows."""

    obs: Array  # [B, D]
    action: Array  # [B, A] before any tanh
    log_pi: Array  # [B] as filled in


def airl(obs_size: int, action_size: int, policy: PolicyOptions, options: AIRLOptions) -> RewardModel:
    """Adversarial inverse reinforcement learning (Fu et al. 2018) over states and actions."""
    adam = clipped_adam(options.max_grad_norm)

    def inputs(obs: Array, action: Array) -> Array:
        return jnp.concatenate([obs, squashing.unit(action, policy.squash)], -1)

    def init(key: jax.Array) -> Discriminator:
        sizes = (obs_size + action_size, *options.hidden, 1)
        net = networks.init_mlp(key, sizes, networks.uniform_fan_in, networks.uniform_fan_in, output_bias=False)
        params = {"net": net, "log_z": jnp.ones((), jnp.float32)}
        return Discriminator(params, adam.init(params), normalize.init(obs_size + action_size))

    def f(params: Params, stats: Stats, obs: Array, action: Array) -> Array:
        return networks.value(params["net"], normalize.apply(stats, inputs(obs, action)))

    def steepness(params: Params, stats: Stats, real: Pairs, own: Pairs, key: jax.Array) -> Array:
        count = min(len(real.obs), len(own.obs))
        here, there = (normalize.apply(stats, inputs(rows.obs, rows.action))[:count] for rows in (real, own))
        return networks.gradient_penalty(lambda x: networks.value(params["net"], x), here, there, key)

    def filled_in(actor: Actor, obs: Array, action: Array) -> Array:
        """The policy's log density that stands for log pi."""
        log_pi = networks.log_prob(actor, policy, obs, action)
        if options.density == "squashed" and policy.squash:
            log_pi -= networks.tanh_log_slope(action)
        return log_pi / action_size if options.per_action else log_pi

    def score(state: Discriminator, actor: Actor, steps: Steps) -> Array:
        reward = f(state.params, state.stats, steps.obs, steps.action)
        if options.reward == "f":
            return reward
        offset = state.params["log_z"] if options.log_z else 0.0
        return reward - filled_in(actor, steps.obs, steps.action) - offset

    def loss(params: Params, stats: Stats, real: Pairs, own: Pairs, key: jax.Array) -> tuple[Array, Metrics]:
        f_real, f_own = (f(params, stats, rows.obs, rows.action) for rows in (real, own))
        offset = params["log_z"] if options.log_z else 0.0
        wrong, metrics = discriminator.cross_entropy(f_real - real.log_pi - offset, f_own - own.log_pi - offset)
        negative = jax.nn.relu(-f_real).mean() + jax.nn.relu(-f_own).mean()
        metrics |= {"disc_f_exemplars": f_real.mean(), "disc_f_learner": f_own.mean()}
        total = wrong + options.positive_penalty * 0.5 * negative
        if options.gradient_penalty > 0:
            total += options.gradient_penalty * steepness(params, stats, real, own, key)
        return total, metrics

    def fit(
        state: Discriminator, actor: Actor, steps: Steps, sample: Sample, key: jax.Array
    ) -> tuple[Discriminator, Metrics]:
        stats = normalize.update(state.stats, inputs(jnp.asarray(steps.obs), jnp.asarray(steps.action)))
        if options.normalize == "both":
            key, stats_key = jax.random.split(key)
            rows = sample(stats_key, options.steps * options.exemplars)
            stats = normalize.update(stats, inputs(rows.obs, rows.action))

        def pairs(obs: Array, action: Array) -> Pairs:
            return Pairs(obs, action, filled_in(actor, obs, action))

        def exemplars(key: jax.Array, size: int) -> Pairs:
            rows: Rows = sample(key, options.exemplars)
            return pairs(rows.obs, rows.action)

        (params, opt), metrics = discriminator.one_pass(
            lambda params, real, own, mix_key: loss(params, stats, real, own, mix_key),
            adam,
            options.learning_rate,
            options.steps,
            (state.params, state.opt),
            pairs(*(rows.reshape(-1, rows.shape[-1]) for rows in (steps.obs, steps.action))),
            exemplars,
            key,
        )
        return Discriminator(params, opt, stats), metrics

    return RewardModel(init, score, fit, options.score_first)
