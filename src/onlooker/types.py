"""The data that flows through a training iteration. T steps of N environments, D observed numbers, A actions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from onlooker.policies.actor import Array

Params = Any
"""A pytree of arrays."""
Metrics = dict[str, Any]
"""Named scalars of one iteration."""


class Steps(NamedTuple):
    """What happened in a rollout."""

    obs: Array  # [T, N, D]
    action: Array  # [T, N, A] as drawn from the Gaussian, before any tanh
    next_obs: Array  # [T, N, D] the true successor, before any reset
    env_reward: Array  # [T, N] the true reward: for `ppo` and for reporting, no imitator looks at it
    terminated: Array  # [T, N] the episode ended for good
    truncated: Array  # [T, N] the time limit cut it

    @property
    def ended(self) -> Array:
        """Whether the next step belongs to another episode, [T, N]."""
        return self.terminated | self.truncated


class Episodes(NamedTuple):
    """The episodes that ended in a rollout, whole, one behind the other, padded to a fixed size.

    An episode that began in an earlier rollout is here with its own early states and actions.
    """

    obs: Array  # [C, D]
    action: Array  # [C, A] before any tanh
    owner: Array  # [C] which episode a row belongs to; E for padding
    start: Array  # [E] first row of each episode
    length: Array  # [E] 0 for padding
    fell: Array  # [E] it ended for good, not by the time limit


class Rows(NamedTuple):
    """B single steps, with just those parts that somebody may see; the others are None."""

    obs: Array  # [B, D]
    action: Array = None  # [B, A] before any tanh
    next_obs: Array = None  # [B, D]
    terminated: Array = None  # [B]


class Rollout(NamedTuple):
    """All that an update learns from."""

    steps: Steps
    episodes: Episodes


Part = Callable[[Any, Rollout, Array, jax.Array], tuple[dict[str, Any], Metrics]]
"""(state, rollout, iteration, key) -> (what changes of the state, by its fields' names; metrics). A pure function."""


Stages = tuple[tuple[Part, ...], ...]
"""What is learned from a rollout, in order. No part needs another's result of the same stage, so those may run at the
same time."""


class Method(NamedTuple):
    """A way to learn: pure functions over a NamedTuple that the loop never looks into, but for its `actor`."""

    init: Callable[[jax.Array], Any]
    """key -> state"""
    stages: Stages
    actor: Callable[[Any], Any]
    """state -> the `Actor` that acts in the environment"""
    policy: Any
    """the `PolicyOptions` by which it acts"""
    snapshot: Callable[[Any, jax.Array], Any] | None = None
    """(state, key) -> a small pytree for later analysis, if there is anything to analyse"""
