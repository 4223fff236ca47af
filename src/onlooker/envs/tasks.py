"""What an environment computes around the physics, for N robots at once, and the pieces that tasks are made of.

A *row* is what a task looks at after a control step: positions, velocities and what else it asks for, such as a body's
place or the contact forces. The pool copies the arrays that `Row.arrays` names into rows [N, R].
"""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlooker.envs.engine import mujoco

Watched = str | tuple[str, int]
"""A field of MjData, whole ("qpos") or of one body or site (("xpos", 3))."""

Numbers = Callable[[np.ndarray], np.ndarray]
"""Rows [N, R] -> numbers of each, [N] or [N, D]."""

Change = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows before and after a control step [N, R] -> a number of each [N]."""

Reward = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Rows before and after [N, R], actions [N, A], and who stands [N] -> rewards [N]."""

Start = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""A random first (qpos, qvel)."""


class Row:
    """Which arrays of an MjData make a row, and where in it they lie."""

    def __init__(self, model: mujoco.MjModel, *watched: Watched) -> None:
        self._arrays = watched
        ends = np.cumsum([array.size for array in self.arrays(mujoco.MjData(model))]).tolist()
        self.size = ends[-1]
        self._at = {name: slice(begin, end) for name, begin, end in zip(watched, [0, *ends[:-1]], ends)}

    def __getitem__(self, name: Watched) -> slice:
        return self._at[name]

    def arrays(self, data: mujoco.MjData) -> list[np.ndarray]:
        """The arrays inside `data` that make its row: views, which stay true."""
        return [
            getattr(data, name).reshape(-1) if isinstance(name, str) else getattr(data, name[0])[name[1]]
            for name in self._arrays
        ]


@dataclass(frozen=True)
class Task:
    """One robot's description."""

    model: mujoco.MjModel
    frame_skip: int
    row: Row
    start: Start
    observe: Numbers
    reward: Reward
    stands: Numbers | None = None  # whether it has not fallen, [N]
    ends: bool = True  # whether a fall ends the episode
    feels_forces: bool = False  # contact forces cost an extra pass after each control step
    key: int = -1  # the keyframe that an episode starts from; -1 is the model's own state
    has_reward: bool = True  # or else it is always 0
    speed: Change | None = None  # how fast it moved forward in a control step, m/s [N]
    hidden: int | None = None  # so many positions are no part of the observation; the rest and the speeds begin it

    def judge(self, before: np.ndarray, after: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards [N] of a control step, and whether it ended the episode for good [N]."""
        stands = np.ones(len(after), bool) if self.stands is None else self.stands(after)
        return self.reward(before, after, action, stands), ~stands & self.ends


def around(env: Any, normal_speeds: bool = False) -> Start:
    """A first state near the model's own: uniform noise, for the speeds perhaps normal."""
    noise, nq, nv = env._reset_noise_scale, env.model.nq, env.model.nv

    def start(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        qpos = env.init_qpos + rng.uniform(-noise, noise, nq)
        speeds = noise * rng.standard_normal(nv) if normal_speeds else rng.uniform(-noise, noise, nv)
        return qpos, env.init_qvel + speeds

    return start


def motion(model: mujoco.MjModel, hidden: int, clipped: bool = False) -> Numbers:
    """Observe positions but the first ones, then velocities, perhaps clipped to +-10."""
    end = model.nq + model.nv

    def observe(rows: np.ndarray) -> np.ndarray:
        if not clipped:
            return rows[:, hidden:end]
        obs = rows[:, hidden:end].copy()
        speeds = obs[:, -model.nv :]
        np.clip(speeds, -10, 10, out=speeds)
        return obs

    return observe


def followed_by(first: Numbers, *more: Numbers) -> Numbers:
    """Observe several things one after the other."""
    return (lambda rows: np.concatenate([first(rows), *(part(rows) for part in more)], axis=1)) if more else first


def forward(weight: float, dt: float, column: int = 0) -> Change:
    """A reward for speed: how far a number of the row got in a control step."""
    return lambda before, after: weight * ((after[:, column] - before[:, column]) / dt)


def effort(weight: float) -> Numbers:
    """What actions [N, A] cost."""
    return lambda action: weight * np.square(action).sum(axis=-1)


def inside(column: int, bounds: tuple[float, float]) -> Numbers:
    """Whether a number of the row is strictly within bounds, [N]."""
    low, high = bounds
    return lambda rows: (low < rows[:, column]) & (rows[:, column] < high)


def all_inside(columns: slice, bounds: tuple[float, float]) -> Numbers:
    """Whether several numbers of the row all are strictly within bounds, [N]."""
    low, high = bounds
    return lambda rows: np.logical_and.reduce((low < rows[:, columns]) & (rows[:, columns] < high), axis=1)


def both(*conditions: Numbers) -> Numbers:
    """Whether all of the conditions hold, [N]."""
    return lambda rows: functools.reduce(operator.and_, [condition(rows) for condition in conditions])
