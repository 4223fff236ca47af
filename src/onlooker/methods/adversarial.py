"""The adversarial baselines: the recording itself against the learner's rollout, told apart by what each may see."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from onlooker.demos import Demos
from onlooker.learning.airl import AIRLOptions, airl
from onlooker.learning.exemplars import from_demos
from onlooker.learning.gail import GAILOptions, Sees, gail
from onlooker.learning.ppo import PPOOptions
from onlooker.methods.compose import Problem, compose
from onlooker.methods.defaults import steady_ppo
from onlooker.methods.watching import Matching, Needs, Watching, matching, shown, whole
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Method


@dataclass(frozen=True)
class GAILSMethod(Matching):
    """GAIL-S: be rewarded for states that a discriminator takes for the expert's."""

    policy: PolicyOptions = field(default_factory=partial(PolicyOptions, log_std_init=-0.5, share_noise=True))
    ppo: PPOOptions = field(default_factory=partial(steady_ppo, fall=1.0))
    discriminator: GAILOptions = field(default_factory=GAILOptions)

    needs: ClassVar[Sees] = "states"

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and what it needs of the expert."""
        assert demos is not None
        own, recorded = matching(self.compared(demos), demos.obs.shape[1], problem.obs_size)
        rows = shown(demos, self.needs, recorded, problem, self.policy.squash)
        sizes = (rows.obs.shape[1], problem.action_size)
        reward_model = gail(self.needs, sizes, own, self.policy.squash, self.ppo.discount, self.discriminator)
        return compose(problem, from_demos(rows), reward_model, self.policy, self.ppo)


@dataclass(frozen=True)
class GAIfOMethod(GAILSMethod):
    """GAIfO: be rewarded for pairs of successive states that a discriminator takes for the expert's."""

    needs: ClassVar[Sees] = "state pairs"


@dataclass(frozen=True)
class GAILSAMethod(GAILSMethod):
    """GAIL-SA: be rewarded for states and actions that a discriminator takes for the expert's. Needs its actions."""

    needs: ClassVar[Sees] = "actions"


@dataclass(frozen=True)
class AIRLMethod(Watching):
    """AIRL: learn a reward of state and action that the expert maximises. Needs its actions."""

    policy: PolicyOptions = field(default_factory=partial(PolicyOptions, log_std_init=-0.5))
    ppo: PPOOptions = field(default_factory=partial(PPOOptions, anneal=True))
    discriminator: AIRLOptions = field(default_factory=partial(AIRLOptions, positive_penalty=0.0, gradient_penalty=1.0))

    needs: ClassVar[Needs] = "actions"

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and the expert's states and actions."""
        assert demos is not None
        recorded = whole(demos.obs.shape[1], problem.obs_size)
        rows = shown(demos, self.needs, recorded, problem, self.policy.squash)
        reward_model = airl(problem.obs_size, problem.action_size, self.policy, self.discriminator)
        return compose(problem, from_demos(rows), reward_model, self.policy, self.ppo)
