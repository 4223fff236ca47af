"""What a method of your own is made of, in one place: see docs/methods/your-own.md. The rest of the package may change.

from onlooker.parts import Matching, PolicyOptions, PPOOptions, RewardModel, compose, matching, no_exemplars
"""

from onlooker.learning.airl import AIRLOptions, airl
from onlooker.learning.critic import Critic, CriticOptions, critic
from onlooker.learning.exemplars import EliteOptions, Exemplars, from_demos, from_elite
from onlooker.learning.exemplars import none as no_exemplars
from onlooker.learning.gail import GAILOptions, gail
from onlooker.learning.ppo import PPOOptions
from onlooker.learning.rewards import RewardModel
from onlooker.methods.compose import Problem, compose
from onlooker.methods.watching import Matching, Needs, Watching, matching, shown
from onlooker.options.bounds import Bounds, Layers, NotNegative, Positive, Rate, Share, Times
from onlooker.policies.actor import Actor, PolicyOptions
from onlooker.types import Array, Episodes, Method, Metrics, Rollout, Rows, Steps

__all__ = [
    "AIRLOptions",
    "Actor",
    "Array",
    "Bounds",
    "Critic",
    "CriticOptions",
    "EliteOptions",
    "Episodes",
    "Exemplars",
    "GAILOptions",
    "Layers",
    "Matching",
    "Method",
    "Metrics",
    "Needs",
    "NotNegative",
    "PPOOptions",
    "PolicyOptions",
    "Positive",
    "Problem",
    "Rate",
    "RewardModel",
    "Rollout",
    "Rows",
    "Share",
    "Steps",
    "Times",
    "Watching",
    "airl",
    "compose",
    "critic",
    "from_demos",
    "from_elite",
    "gail",
    "matching",
    "no_exemplars",
    "shown",
]
