"""All that acting takes, as plain values: the numbers of a policy, and the options that say what they mean."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from onlooker.errors import UserError
from onlooker.options.bounds import Layers, NotNegative

Array = Any
"""A numpy array on the host, a jax.Array inside an update."""

CLIP = 10.0  # normalised observations are kept within +-10
EPS = 1e-8


class Stats(NamedTuple):
    """Mean and (population) variance of all rows seen so far."""

    mean: Array  # [D]
    var: Array  # [D]
    seen: Array  # [] how many rows


class Actor(NamedTuple):
    """The numbers of a policy."""

    net: list[dict[str, Array]]  # normalised observation -> mean
    log_std: Array  # [A]
    stats: Stats  # of the observations


@dataclass(frozen=True)
class PolicyOptions:
    """The policy: a diagonal Gaussian whose mean an MLP gives."""

    hidden: Layers = (64, 64)
    """Hidden layers of the policy and of the value function."""
    squash: bool = True
    """Squash actions with tanh into the action bounds; without it, the Gaussian's draw is clipped to them."""
    mean_init: NotNegative = 0.01
    """How large the weights that give the mean are at the start, as a share of their usual size: with 1 (release) the
    first policy acts at random on whatever it sees, with little it rests, and its noise explores from there."""
    log_std_init: float = 0.0
    """The log standard deviation at the start."""
    share_noise: bool = False
    """Divide the deviation at the start (and at the end of a schedule) by the square root of the number of actions, so
    that a robot with more motors is not thrown about more."""
    log_std_min: float = -10.0
    """Lowest log standard deviation."""
    log_std_max: float = 2.0
    """Highest log standard deviation."""

    def __post_init__(self) -> None:
        if self.log_std_min > self.log_std_max:
            raise UserError(f"--policy.log-std-min {self.log_std_min} is above --policy.log-std-max {self.log_std_max}")

    def shared(self, log_std: Array, action_size: int) -> Array:
        """The log standard deviation of each action, if this is that of all of them together."""
        return log_std - 0.5 * math.log(action_size) if self.share_noise else log_std
