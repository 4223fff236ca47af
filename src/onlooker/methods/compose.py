"""How a method is put together from exemplars, a reward model and PPO."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker import normalize, ppo
from onlooker.exemplars import Exemplars
from onlooker.networks import PolicyOptions
from onlooker.ppo import Learner, PPOOptions
from onlooker.rewards import RewardModel
from onlooker.types import Array, Method, Metrics, Rollout

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

    learner: Learner
    rewards: Any
    exemplars: Any


def compose(
    problem: Problem,
    exemplars: Exemplars,
    reward_model: RewardModel,
    policy: PolicyOptions,
    options: PPOOptions,
    score_first: bool,
) -> Method:
    """A method from its parts: absorb the new episodes, score the rollout, fit the reward model, improve the policy.

    `score_first` scores with the reward model as it was before this iteration's fit.
    """

    def init(key: jax.Array) -> State:
        keys = jax.random.split(key, 3)
        learner = ppo.init(keys[0], problem.obs_size, problem.action_size, policy, options)
        return State(learner, reward_model.init(keys[1]), exemplars.init(keys[2]))

    def learn(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[State, Metrics]:
        fit_key, improve_key = jax.random.split(key)
        actor, steps = state.learner.actor, rollout.steps

        def draw(key: jax.Array, n: int) -> Any:
            return exemplars.sample(state.exemplars, key, n)

        fitted, about_fit = reward_model.fit(state.rewards, actor, steps, draw, fit_key)
        reward = reward_model.score(state.rewards if score_first else fitted, actor, steps)
        progress = iteration / problem.iterations
        learner, about_policy = ppo.improve(state.learner, steps, reward, progress, improve_key, policy, options)
        return State(learner, fitted, state.exemplars), about_fit | about_policy | {"reward": reward.mean()}

    def update(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[State, Metrics]:
        absorb_key, learn_key = jax.random.split(key)
        known, about_exemplars = exemplars.absorb(state.exemplars, rollout.episodes, iteration, absorb_key)
        state = state._replace(exemplars=known)

        def wait(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[State, Metrics]:
            # Until there is an exemplar there is nothing to imitate: only the observation statistics learn.
            shapes = jax.eval_shape(learn, state, rollout, iteration, key)[1]
            return state, jax.tree.map(lambda shape: jnp.full(shape.shape, jnp.nan, shape.dtype), shapes)

        ready = exemplars.ready(known)
        state, about_learning = jax.lax.cond(ready, learn, wait, state, rollout, iteration, learn_key)
        # The rollout was drawn with the old statistics and PPO used them; the new ones count from the next rollout on.
        actor = state.learner.actor
        actor = actor._replace(stats=normalize.update(actor.stats, rollout.steps.obs))
        state = state._replace(learner=state.learner._replace(actor=actor))
        return state, about_exemplars | about_learning

    def snapshot(state: State, key: jax.Array) -> dict[str, Any]:
        rows = exemplars.sample(state.exemplars, key, SNAPSHOT_ROWS)
        return {"obs": rows.obs, "action": rows.action, "rewards": state.rewards}

    return Method(init, update, lambda state: state.learner.actor, snapshot if exemplars.grows else None)
