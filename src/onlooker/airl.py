"""The AIRL reward model: a discriminator whose logit is f(s, a) - log pi(a|s), so that f becomes a reward."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from onlooker import networks, normalize
from onlooker.networks import Actor, PolicyOptions
from onlooker.normalize import Stats
from onlooker.rewards import Draw, RewardModel
from onlooker.types import Array, Metrics, Params, Steps


@dataclass(frozen=True)
class AIRLOptions:
    """The AIRL discriminator D = exp f / (exp f + pi(a|s)), with f(s, a) learned and pi filled in."""

    hidden: tuple[int, ...] = (64, 64)
    """Hidden layers of f."""
    learning_rate: float = 3e-4
    """Step size of Adam."""
    steps: int = 5
    """Gradient steps an iteration; each takes its share of the rollout, so that they make one pass."""
    exemplars: int = 1000
    """Exemplars in a gradient step."""
    reward: Literal["f", "f-log-pi"] = "f"
    """What PPO is given: f alone (release), or log D - log(1 - D) = f - log pi (paper)."""
    density: Literal["gaussian", "squashed"] = "gaussian"
    """The log pi filled in: of the draw before the tanh (release), or of the action itself."""
    per_action: bool = True
    """Divide log pi by the number of actions."""
    log_z: bool = True
    """Learn a scalar, 1 at the start, that is added to log pi."""
    positive_penalty: float = 2.0
    """Weight of relu(-f) over both classes: keeps rewards positive, a survival bonus."""
    max_grad_norm: float = 10.0
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
    adam = optax.flatten(optax.chain(optax.clip_by_global_norm(options.max_grad_norm), optax.scale_by_adam()))

    def inputs(obs: Array, action: Array) -> Array:
        return jnp.concatenate([obs, jnp.tanh(action) if policy.squash else action], -1)

    def init(key: jax.Array) -> Discriminator:
        sizes = (obs_size + action_size, *options.hidden, 1)
        net = networks.init_mlp(key, sizes, networks.uniform_fan_in, networks.uniform_fan_in, output_bias=False)
        params = {"net": net, "log_z": jnp.ones((), jnp.float32)}
        return Discriminator(params, adam.init(params), normalize.init(obs_size + action_size))

    def f(params: Params, stats: Stats, obs: Array, action: Array) -> Array:
        return networks.value(params["net"], normalize.apply(stats, inputs(obs, action)))

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

    def loss(params: Params, stats: Stats, real: Pairs, fake: Pairs) -> tuple[Array, Metrics]:
        f_real, f_fake = (f(params, stats, rows.obs, rows.action) for rows in (real, fake))
        offset = params["log_z"] if options.log_z else 0.0
        logit_real, logit_fake = f_real - real.log_pi - offset, f_fake - fake.log_pi - offset
        cross_entropy = jax.nn.softplus(-logit_real).mean() + jax.nn.softplus(logit_fake).mean()
        negative = jax.nn.relu(-f_real).mean() + jax.nn.relu(-f_fake).mean()
        metrics = {
            "disc_loss": cross_entropy,
            "disc_accuracy_exemplars": (logit_real > 0).mean(),
            "disc_accuracy_learner": (logit_fake < 0).mean(),
            "disc_f_exemplars": f_real.mean(),
            "disc_f_learner": f_fake.mean(),
        }
        return cross_entropy + options.positive_penalty * 0.5 * negative, metrics

    def fit(
        state: Discriminator, actor: Actor, steps: Steps, draw: Draw, key: jax.Array
    ) -> tuple[Discriminator, Metrics]:
        stats = normalize.update(state.stats, inputs(jnp.asarray(steps.obs), jnp.asarray(steps.action)))
        order_key, draw_key = jax.random.split(key)
        obs, action = (rows.reshape(-1, rows.shape[-1]) for rows in (steps.obs, steps.action))
        fake = Pairs(obs, action, filled_in(actor, obs, action))
        size = obs.shape[0] // options.steps
        order = jax.random.permutation(order_key, obs.shape[0])[: size * options.steps].reshape(options.steps, size)

        def step(carry: tuple[Params, Any], turn: tuple[Array, jax.Array]) -> tuple[tuple[Params, Any], Metrics]:
            params, opt = carry
            rows, draw_key = turn
            real_obs, real_action = draw(draw_key, options.exemplars)
            real = Pairs(real_obs, real_action, filled_in(actor, real_obs, real_action))
            share = jax.tree.map(lambda x: jnp.asarray(x)[rows], fake)
            grads, metrics = jax.grad(loss, has_aux=True)(params, stats, real, share)
            direction, opt = adam.update(grads, opt)
            return (jax.tree.map(lambda p, d: p - options.learning_rate * d, params, direction), opt), metrics

        turns = (order, jax.random.split(draw_key, options.steps))
        (params, opt), metrics = jax.lax.scan(step, (state.params, state.opt), turns)
        return Discriminator(params, opt, stats), {name: values.mean() for name, values in metrics.items()}

    return RewardModel(init, score, fit)
