"""PPO on the true reward."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from onlooker.demos import Demos
from onlooker.learning import exemplars, rewards
from onlooker.learning.ppo import PPOOptions
from onlooker.methods.compose import Problem, compose
from onlooker.methods.defaults import steady_ppo
from onlooker.methods.watching import Needs
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Method


@dataclass(frozen=True)
class PPOMethod:
    """PPO on the true reward: the oracle that the imitators are measured against, and how experts are made."""

    policy: PolicyOptions = field(default_factory=partial(PolicyOptions, share_noise=True))
    ppo: PPOOptions = field(default_factory=partial(steady_ppo, log_std_end=None))
    scale_reward: bool = True
    """Divide rewards by the running deviation of the discounted return."""

    needs: ClassVar[Needs] = "nothing"
    best_num_envs: ClassVar[int] = 16  # the default: what measured best

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes."""
        reward_model = rewards.env_reward(problem.num_envs, self.ppo.discount, self.scale_reward)
        return compose(problem, exemplars.none(), reward_model, self.policy, self.ppo)
