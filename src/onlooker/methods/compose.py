"""How a method is put together from exemplars, a reward model and PPO."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import normalize, ppo
from onlooker.learning.exemplars import Exemplars
from onlooker.learning.networks import PolicyOptions
from onlooker.learning.ppo import Acting, PPOOptions, Valuing
from onlooker.learning.rewards import RewardModel
from onlooker.types import Array, Method, Metrics, Part, Rollout, Rows, Steps

SNAPSHOT_ROWS = 1000  # exemplars kept in a snapshot


class Problem(NamedTuple):
    """The sizes that a method is built for."""

    obs_size: int
    action_size: int
    num_envs: int
    horizon: int  # steps after which an episode is cut
    iterations: int
    action_low: Any = -1.0  # [A] bounds of an action
    action_high: Any = 1.0


class State(NamedTuple):
    """What a composed method learns."""

    acting: Acting
    valuing: Valuing
    rewards: Any
    exemplars: Any


def compose(
    problem: Problem,
    exemplars: Exemplars,
    reward_model: RewardModel,
    policy: PolicyOptions,
    options: PPOOptions,
    score_first: bool,
    besides: Callable[[Any, Steps], Array] | None = None,
) -> Method:
    """A method from its parts: absorb the new episodes, fit the reward model, score the rollout, improve the policy.

    With `score_first` the rollout is scored with the reward model as it was before this iteration's fit. Then fitting
    and improving need nothing of each other and run at the same time. Else policy and value do. `besides` says what the
    steps [T, N] are worth on top of that, by what is known of the exemplars.
    """

    def init(key: jax.Array) -> State:
        keys = jax.random.split(key, 3)
        acting, valuing = ppo.init(keys[0], problem.obs_size, problem.action_size, policy, options)
        return State(acting, valuing, reward_model.init(keys[1]), exemplars.init(keys[2]))

    def keys_of(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        absorb_key, learn_key = jax.random.split(key)
        return absorb_key, *jax.random.split(learn_key)

    def study(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[dict[str, Any], Metrics]:
        """What is exemplary, and what is worth how much."""
        absorb_key, fit_key, _ = keys_of(key)
        known, about_exemplars = exemplars.absorb(state.exemplars, rollout.episodes, iteration, absorb_key)

        def fit(model: Any) -> tuple[Any, Metrics]:
            def draw(key: jax.Array, n: int) -> Rows:
                return exemplars.sample(known, key, n)

            return reward_model.fit(model, state.acting.actor, rollout.steps, draw, fit_key)

        ready = exemplars.ready(state.exemplars, rollout.episodes)
        fitted, about_fit = _when(ready, fit, state.rewards)
        return {"exemplars": known, "rewards": fitted}, about_exemplars | about_fit

    def improving(**learners: Callable[..., tuple[Any, Metrics]]) -> Part:
        """The part that improves these fields of the state, by the rewards as they are."""

        def improve(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[dict[str, Any], Metrics]:
            _, _, improve_key = keys_of(key)

            def learn(known: dict[str, Any]) -> tuple[dict[str, Any], Metrics]:
                reward = reward_model.score(state.rewards, state.acting.actor, rollout.steps)
                if besides is not None:
                    reward += besides(state.exemplars, rollout.steps)
                progress = iteration / max(problem.iterations, math.ceil(options.anneal_steps / reward.size))
                seen = (state.acting, state.valuing, rollout.steps, reward, progress, improve_key, policy, options)
                learned = {field: learner(*seen) for field, learner in learners.items()}
                about = {name: value for _, metrics in learned.values() for name, value in metrics.items()}
                return {field: new for field, (new, _) in learned.items()}, about

            known = {field: getattr(state, field) for field in learners}
            known, about = _when(exemplars.ready(state.exemplars, rollout.episodes), learn, known)
            if "acting" in known:
                # The rollout was drawn with the old statistics and PPO used them; the new ones count from the next on.
                actor = known["acting"].actor
                actor = actor._replace(stats=normalize.update(actor.stats, rollout.steps.obs))
                known["acting"] = known["acting"]._replace(actor=actor)
            return known, about

        return improve

    def snapshot(state: State, key: jax.Array) -> dict[str, Any]:
        rows = exemplars.sample(state.exemplars, key, SNAPSHOT_ROWS)
        return {"obs": rows.obs, "action": rows.action, "rewards": state.rewards}

    stages: tuple[tuple[Part, ...], ...]
    if score_first:
        stages = ((improving(acting=ppo.improve_policy, valuing=ppo.improve_value), study),)
    else:
        stages = ((study,), (improving(acting=ppo.improve_policy), improving(valuing=ppo.improve_value)))
    return Method(init, stages, lambda state: state.acting.actor, policy, snapshot if exemplars.grows else None)


def _when(ready: Array, learn: Callable[[Any], tuple[Any, Metrics]], state: Any) -> tuple[Any, Metrics]:
    """learn(state), or the state as it is and metrics of NaN: without an exemplar there is nothing to imitate."""

    def wait(state: Any) -> tuple[Any, Metrics]:
        shapes = jax.eval_shape(learn, state)[1]
        return state, jax.tree.map(lambda shape: jnp.full(shape.shape, jnp.nan, shape.dtype), shapes)

    return jax.lax.cond(ready, learn, wait, state)
