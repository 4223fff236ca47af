"""How a method is put together from exemplars, a reward model and PPO."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import normalize, ppo
from onlooker.learning.exemplars import Exemplars
from onlooker.learning.ppo import Acting, PPOOptions, Valuing
from onlooker.learning.rewards import RewardModel
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Array, Method, Metrics, Rollout, Rows, Stages, Steps

SNAPSHOT_ROWS = 1000  # exemplars kept in a snapshot
CALMEST = 1.5  # beside an expert that hardly moves, noise still explores: a fifth of the deviation is left


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
    besides: Callable[[Any, Steps], Array] | None = None,
    wildness: Callable[[Array], Array] | None = None,
) -> Method:
    """A method from its parts: absorb the new episodes, fit the reward model, score the rollout, improve the policy.

    `besides` says what the steps [T, N] are worth on top of that, by what is known of the exemplars. `wildness` says
    from observations [T, N, D] how much wider than it should the robot is thrown about by its noise.
    """

    def init(key: jax.Array) -> State:
        keys = jax.random.split(key, 3)
        acting, valuing = ppo.init(keys[0], problem.obs_size, problem.action_size, policy, options)
        if wildness is not None:
            acting = acting._replace(calm=jnp.zeros((), jnp.float32))
        return State(acting, valuing, reward_model.init(keys[1]), exemplars.init(keys[2]))

    def study(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[dict[str, Any], Metrics]:
        """What is exemplary, and what is worth how much."""
        absorb_key, fit_key, _ = _keys(key)
        known, about_exemplars = exemplars.absorb(state.exemplars, rollout.episodes, iteration, absorb_key)

        def fit(model: Any) -> tuple[Any, Metrics]:
            def sample(key: jax.Array, n: int) -> Rows:
                return exemplars.sample(known, key, n)

            return reward_model.fit(model, state.acting.actor, rollout.steps, sample, fit_key)

        fitted, about_fit = _when(ready(state, rollout), fit, state.rewards)
        return {"exemplars": known, "rewards": fitted}, about_exemplars | about_fit

    def improve_policy(
        state: State, rollout: Rollout, iteration: Array, key: jax.Array
    ) -> tuple[dict[str, Any], Metrics]:
        def learn(acting: Acting) -> tuple[Acting, Metrics]:
            return ppo.improve_policy(acting, state.valuing, *lesson(state, rollout, iteration, key))

        acting, about = _when(ready(state, rollout), learn, calmed(state.acting, rollout, iteration))
        return {"acting": _with_newer_statistics(acting, rollout)}, about

    def improve_value(
        state: State, rollout: Rollout, iteration: Array, key: jax.Array
    ) -> tuple[dict[str, Any], Metrics]:
        def learn(valuing: Valuing) -> tuple[Valuing, Metrics]:
            return ppo.improve_value(state.acting, valuing, *lesson(state, rollout, iteration, key))

        valuing, about = _when(ready(state, rollout), learn, state.valuing)
        return {"valuing": valuing}, about

    def improve_both(
        state: State, rollout: Rollout, iteration: Array, key: jax.Array
    ) -> tuple[dict[str, Any], Metrics]:
        """Policy and value in one go, which scores and looks back on the rollout once."""

        def learn(known: tuple[Acting, Valuing]) -> tuple[tuple[Acting, Valuing], Metrics]:
            seen = lesson(state, rollout, iteration, key)
            acting, about_policy = ppo.improve_policy(*known, *seen)
            valuing, about_value = ppo.improve_value(*known, *seen)
            return (acting, valuing), about_policy | about_value

        known = calmed(state.acting, rollout, iteration), state.valuing
        (acting, valuing), about = _when(ready(state, rollout), learn, known)
        return {"acting": _with_newer_statistics(acting, rollout), "valuing": valuing}, about

    def calmed(acting: Acting, rollout: Rollout, iteration: Array) -> Acting:
        """The first rollout decides. Half the noise takes a fifth off the spread of Ant's states at most, not half:
        therefore the square."""
        if wildness is None or acting.calm is None:
            return acting
        calm = jnp.clip(2 * jnp.log(wildness(rollout.steps.obs)), 0.0, CALMEST)
        return acting._replace(calm=jnp.where(iteration == 0, calm, acting.calm))

    def ready(state: State, rollout: Rollout) -> Array:
        return exemplars.ready(state.exemplars, rollout.episodes)

    def lesson(state: State, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple:
        """What PPO learns from besides policy and value: the steps, and what they are worth as the rewards stand."""
        reward = reward_model.score(state.rewards, state.acting.actor, rollout.steps)
        if besides is not None:
            reward += besides(state.exemplars, rollout.steps)
        progress = iteration / max(problem.iterations, math.ceil(options.anneal_steps / reward.size))
        _, _, improve_key = _keys(key)
        return rollout.steps, reward, progress, improve_key, policy, options

    def snapshot(state: State, key: jax.Array) -> dict[str, Any]:
        rows = exemplars.sample(state.exemplars, key, SNAPSHOT_ROWS)
        return {"obs": rows.obs, "action": rows.action, "rewards": state.rewards}

    # Parts of a stage need nothing of each other and run at the same time.
    score_first: Stages = ((improve_both, study),)
    fit_first: Stages = ((study,), (improve_policy, improve_value))
    stages = score_first if reward_model.score_first else fit_first
    return Method(init, stages, lambda state: state.acting.actor, policy, snapshot if exemplars.grows else None)


def _keys(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """For absorbing, fitting and improving."""
    absorb_key, learn_key = jax.random.split(key)
    return absorb_key, *jax.random.split(learn_key)


def _with_newer_statistics(acting: Acting, rollout: Rollout) -> Acting:
    """The rollout was drawn with the old statistics and PPO used them; the new ones count from the next rollout on."""
    stats = normalize.update(acting.actor.stats, rollout.steps.obs)
    return acting._replace(actor=acting.actor._replace(stats=stats))


def _when(ready: Array, learn: Callable[[Any], tuple[Any, Metrics]], state: Any) -> tuple[Any, Metrics]:
    """learn(state), or the state as it is and metrics of NaN: without an exemplar there is nothing to imitate."""

    def wait(state: Any) -> tuple[Any, Metrics]:
        shapes = jax.eval_shape(learn, state)[1]
        return state, jax.tree.map(lambda shape: jnp.full(shape.shape, jnp.nan, shape.dtype), shapes)

    return jax.lax.cond(ready, learn, wait, state)
