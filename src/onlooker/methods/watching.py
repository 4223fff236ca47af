"""What an imitator watches: the recording, how much of it, and which entries of an observation it compares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from onlooker.demos import Demos
from onlooker.errors import UserError
from onlooker.learning.squashing import as_drawn
from onlooker.methods.compose import Problem
from onlooker.options.bounds import Times
from onlooker.options.spelling import Dims
from onlooker.types import Array, Rows

Needs = Literal["nothing", "states", "state pairs", "actions", "policy"]
"""What a method is shown of the expert, and no more: of its recording, or (`transfer`) its policy."""


@dataclass(frozen=True)
class Watching:
    """The recording."""

    demo: str | None = None
    """The expert's recording: a file (.npz, .csv, .hdf5) or a shipped one's name; by default the robot's own."""
    demo_episodes: Times | None = None
    """Watch only the first episodes of the recording."""
    demo_stride: Times = 1
    """Watch only every n-th state of it."""

    best_num_envs: ClassVar[int] = 8  # the default of --num-envs: what measured best


@dataclass(frozen=True)
class Matching(Watching):
    """The recording, which may hold just some entries of an observation."""

    match_dims: Dims = None
    """Compare only these entries of an observation, for example 0-7,10; by default those that the recording names, or
    all."""

    def compared(self, demos: Demos) -> tuple[int, ...] | None:
        """The entries to compare; None for all of them."""
        return demos.match_dims() if self.match_dims is None else self.match_dims


Pick = Callable[[Array], Array]
"""States [..., n] -> just their compared entries [..., S]."""


def whole(recorded: int, obs_size: int, if_fewer: str = "i2l, gail-s and gaifo can do with some entries") -> Pick:
    """How to pick the compared entries if a recorded state, of `recorded` numbers, must be a whole observation: all."""
    if recorded != obs_size:
        hint = if_fewer if recorded < obs_size else "is it of another robot?"
        raise UserError(f"the demonstration has {recorded} numbers a state, the environment {obs_size}; {hint}")
    return lambda obs: obs


def matching(dims: tuple[int, ...] | None, recorded: int, obs_size: int) -> tuple[Pick, Pick]:
    """(how to pick the compared entries of the learner's observations, how of the recorded states).

    A recorded state has `recorded` numbers: a whole observation, or only the entries that are compared.
    """
    if dims is None:
        same = whole(recorded, obs_size, f"say with --match-dims which {recorded} entries of an observation they are")
        return same, same
    if not dims or len(set(dims)) != len(dims) or not all(0 <= dim < obs_size for dim in dims):
        raise UserError(f"--match-dims must name different entries from 0 to {obs_size - 1}, not {dims}")
    if recorded not in (obs_size, len(dims)):
        raise UserError(
            f"the demonstration has {recorded} numbers a state; with {len(dims)} --match-dims it must have "
            f"{len(dims)} (just these) or {obs_size} (whole observations)"
        )
    chosen = np.array(dims)
    own: Pick = lambda obs: obs[..., chosen]  # noqa: E731
    return own, own if recorded == obs_size else lambda obs: obs


def shown(demos: Demos, sees: Needs, pick: Pick, problem: Problem, squash: bool) -> Rows:
    """The recorded steps as rows, with what a method sees and no more."""
    if sees == "state pairs":
        obs, next_obs = demos.state_pairs()
        if not len(obs):
            raise UserError("every recorded episode is a single state: there are no state pairs to learn from")
    else:
        obs, next_obs = demos.obs, None
    falls = 0 if demos.terminated is None else int(demos.terminated.sum())
    return Rows(
        obs=pick(obs),
        action=draws(demos, problem, squash) if sees == "actions" else None,
        next_obs=None if next_obs is None else pick(next_obs),
        # Each row stands for its share of the falls, as a fall's own row may have no successor on record.
        terminated=np.full(len(obs), falls / len(obs), np.float32),
    )


def draws(demos: Demos, problem: Problem, squash: bool) -> np.ndarray:
    """The recorded actions as the policy draws them."""
    assert demos.action is not None
    if demos.action.shape[1] != problem.action_size:
        raise UserError(
            f"the demonstration has {demos.action.shape[1]} numbers an action, the environment {problem.action_size}; "
            "methods that see states only do not mind: i2l, gail-s, gaifo, bco"
        )
    return as_drawn(demos.action, problem.action_low, problem.action_high, squash)
