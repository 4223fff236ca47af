"""The methods, each composed of exemplars, a reward model and PPO."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from onlooker import exemplars as exemplar_sources
from onlooker import normalize, ppo, rewards
from onlooker.airl import AIRLOptions, airl
from onlooker.critic import CriticOptions, critic
from onlooker.demos import Demos
from onlooker.errors import UserError
from onlooker.exemplars import EliteOptions, Exemplars
from onlooker.networks import PolicyOptions
from onlooker.ppo import Learner, PPOOptions
from onlooker.rewards import RewardModel
from onlooker.spelling import Dims
from onlooker.types import Array, Method, Metrics, Rollout

SNAPSHOT_ROWS = 1000  # exemplars kept in a snapshot

Needs = Literal["nothing", "states", "state pairs", "actions"]
"""What of the demonstrations a method is shown, and no more."""


class Problem(NamedTuple):
    """The sizes that a method is built for."""

    obs_size: int
    action_size: int
    num_envs: int
    horizon: int  # steps after which an episode is cut
    iterations: int


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
        obs, action = exemplars.sample(state.exemplars, key, SNAPSHOT_ROWS)
        return {"obs": obs, "action": action, "rewards": state.rewards}

    analysable = exemplars.sample is not exemplar_sources.no_sample
    return Method(init, update, lambda state: state.learner.actor, snapshot if analysable else None)


@dataclass(frozen=True)
class PPOMethod:
    """PPO on the true reward: the oracle that the imitators are measured against, and how experts are made."""

    policy: PolicyOptions = field(default_factory=PolicyOptions)
    ppo: PPOOptions = field(default_factory=PPOOptions)
    scale_reward: bool = True
    """Divide rewards by the running deviation of the discounted return."""

    needs: ClassVar[Needs] = "nothing"
    best_num_envs: ClassVar[int] = 16  # the default: what measured best

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes."""
        reward_model = rewards.env_reward(problem.num_envs, self.ppo.discount, self.scale_reward)
        return compose(problem, exemplar_sources.none(), reward_model, self.policy, self.ppo, score_first=False)


def matching(
    dims: tuple[int, ...] | None, states: np.ndarray, obs_size: int
) -> tuple[Callable[[Array], Array], np.ndarray]:
    """(how to pick the compared entries of an observation, the expert's states with just these entries).

    The recording holds either whole observations or only the entries that are compared.
    """
    recorded = states.shape[-1]
    if dims is None:
        if recorded != obs_size:
            raise UserError(
                f"the demonstration has {recorded} numbers a state, the environment {obs_size}; "
                f"say with --match-dims which {recorded} entries of an observation they are"
            )
        return lambda obs: obs, states
    if len(set(dims)) != len(dims) or not all(0 <= dim < obs_size for dim in dims):
        raise UserError(f"--match-dims must name different entries from 0 to {obs_size - 1}, not {dims}")
    if recorded not in (obs_size, len(dims)):
        raise UserError(
            f"the demonstration has {recorded} numbers a state; with {len(dims)} --match-dims it must have "
            f"{len(dims)} (just these) or {obs_size} (whole observations)"
        )
    chosen = np.array(dims)
    return lambda obs: obs[..., chosen], states[:, chosen] if recorded == obs_size else states


@dataclass(frozen=True)
class I2LMethod:
    """I2L, indirect imitation: imitate those few of your own episodes that lie closest to the expert's states."""

    demo: str | None = None
    """The expert's recording: a file (.npz, .csv, .hdf5) or a shipped one's name; by default the robot's own."""
    demo_episodes: int | None = None
    """Watch only the first episodes of the recording."""
    demo_stride: int = 1
    """Watch only every n-th state of it."""
    match_dims: Dims | None = None
    """Compare only these entries of an observation, for example 0-7,10; all by default."""
    policy: PolicyOptions = field(default_factory=PolicyOptions)
    ppo: PPOOptions = field(default_factory=PPOOptions)
    critic: CriticOptions = field(default_factory=CriticOptions)
    elite: EliteOptions = field(default_factory=EliteOptions)
    discriminator: AIRLOptions = field(default_factory=AIRLOptions)
    needs: ClassVar[Needs] = "states"
    best_num_envs: ClassVar[int] = 8

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and the states of the expert."""
        assert demos is not None
        match, expert = matching(self.match_dims, demos.obs, problem.obs_size)
        watched = exemplar_sources.from_elite(
            critic(expert, self.critic), match, (problem.horizon, problem.obs_size, problem.action_size), self.elite
        )
        reward_model = airl(problem.obs_size, problem.action_size, self.policy, self.discriminator)
        return compose(problem, watched, reward_model, self.policy, self.ppo, self.discriminator.score_first)


METHODS: dict[str, Any] = {"ppo": PPOMethod, "i2l": I2LMethod}
"""Name on the command line -> options; each option class builds its method."""
