"""I2L: the method at the heart of this package."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import jax.numpy as jnp

from onlooker.demos import Demos
from onlooker.learning.airl import AIRLOptions, airl
from onlooker.learning.critic import CriticOptions, critic
from onlooker.learning.exemplars import EliteOptions, EliteState, from_elite
from onlooker.learning.ppo import PPOOptions
from onlooker.methods.compose import Problem, compose
from onlooker.methods.defaults import steady_ppo
from onlooker.methods.watching import Matching, Needs, matching
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Array, Method, Steps

STILL = 1e-6  # an entry with a smaller deviation does not move


@dataclass(frozen=True)
class I2LMethod(Matching):
    """I2L, indirect imitation: imitate those few of your own episodes that lie closest to the expert's states."""

    policy: PolicyOptions = field(default_factory=partial(PolicyOptions, share_noise=True))
    ppo: PPOOptions = field(default_factory=partial(steady_ppo, fall=2.0))
    critic: CriticOptions = field(default_factory=CriticOptions)
    elite: EliteOptions = field(default_factory=EliteOptions)
    discriminator: AIRLOptions = field(default_factory=partial(AIRLOptions, learning_rate=1e-3))
    calm: bool = True
    """Start the schedule of the noise lower where the first rollout's states spread wider than the expert's: noise that
    one robot needs throws another about."""

    needs: ClassVar[Needs] = "states"

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and the states of the expert."""
        assert demos is not None
        own, recorded = matching(self.compared(demos), demos.obs.shape[1], problem.obs_size)
        expert = critic(recorded(demos.obs), self.critic)
        shape = (problem.horizon, problem.obs_size, problem.action_size)
        reward_model = airl(problem.obs_size, problem.action_size, self.policy, self.discriminator)
        closest = from_elite(expert, own, shape, self.elite)

        def closeness(state: EliteState, steps: Steps) -> Array:
            return self.critic.reward * expert.g(state.critic.net, own(steps.next_obs))

        def wildness(obs: Array) -> Array:
            return wider(own(obs), recorded(demos.obs))

        besides = closeness if self.critic.reward > 0 else None
        calming = wildness if self.calm else None
        return compose(problem, closest, reward_model, self.policy, self.ppo, besides, calming)


def wider(states: Array, expert: Array) -> Array:
    """How many times as wide as the expert's [..., S] some states [..., S] spread: the median over the entries in which
    the expert moves at all."""
    spread, measure = (jnp.std(jnp.asarray(x, jnp.float32).reshape(-1, x.shape[-1]), 0) for x in (states, expert))
    ratios = jnp.where(measure > STILL, spread / jnp.maximum(measure, STILL), jnp.nan)
    return jnp.nan_to_num(jnp.nanmedian(ratios), nan=1.0)
