"""What an imitator watches: the recording, how much of it, and which entries of an observation it compares."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from onlooker.demos import Demos
from onlooker.errors import UserError
from onlooker.methods.compose import Problem
from onlooker.options.spelling import Dims
from onlooker.types import Array, Rows

Needs = Literal["nothing", "states", "state pairs", "actions"]
"""What of the demonstrations a method is shown, and no more."""
EDGE = 1 - 1e-6  # a recorded action at its bound is taken for this much of it, so that its atanh is finite


@dataclass(frozen=True)
class Watching:
    """The recording."""

    demo: str | None = None
    """The expert's recording: a file (.npz, .csv, .hdf5) or a shipped one's name; by default the robot's own."""
    demo_episodes: int | None = None
    """Watch only the first episodes of the recording."""
    demo_stride: int = 1
    """Watch only every n-th state of it."""


@dataclass(frozen=True)
class Matching(Watching):
    """The recording, which may hold just some entries of an observation."""

    match_dims: Dims | None = None
    """Compare only these entries of an observation, for example 0-7,10; all by default."""


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
    if len(set(dims)) != len(dims) or not all(0 <= dim < obs_size for dim in dims):
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


def as_drawn(action: np.ndarray, low: Array, high: Array, squash: bool) -> np.ndarray:
    """Actions [T, A] as a policy draws them: through the inverse of tanh, if it squashes."""
    if not squash:
        return action
    return np.arctanh(np.clip(within_bounds(action, low, high), -EDGE, EDGE)).astype(np.float32)


def within_bounds(action: np.ndarray, low: Array, high: Array) -> np.ndarray:
    """Where actions [T, A] lie between their bounds: -1 is the lower one, 1 the upper."""
    low, high = np.reshape(low, -1), np.reshape(high, -1)
    return (action - (high + low) / 2) / ((high - low) / 2)
