"""Actions that arrive late."""

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker.errors import UserError


def neutral(space: gym.spaces.Box) -> np.ndarray:
    """What is done before the first action has arrived: 0, or what is nearest to it within the bounds."""
    return np.clip(np.zeros(space.shape), space.low, space.high)


def split(delay: float, frame_skip: int) -> tuple[int, int]:
    """(actions that are on their way, physics steps of a control step in which the one before the last is done)."""
    whole = int(delay)
    part = (delay - whole) * frame_skip
    held = round(part)
    if abs(part - held) > 1e-6:
        raise UserError(
            f"delay: a control step has {frame_skip} physics steps, so it can be late by multiples of "
            f"{1 / frame_skip:.4g}, not by {delay:g}"
        )
    return whole + (held > 0), held


class Delayed(gym.Wrapper):
    """Every action is done `delay` control steps after it was chosen."""

    def __init__(self, env: gym.Env, delay: float) -> None:
        super().__init__(env)
        base: Any = env.unwrapped
        physics: Any = getattr(base, "_step_mujoco_simulation", None)
        if physics is None and delay != int(delay):
            raise UserError(f"delay must be whole control steps where MuJoCo is not what steps, not {delay:g}")
        self._steps, self._held = split(delay, getattr(base, "frame_skip", 1))
        self._coming: deque[Any] = deque()
        if self._held:  # a control step is in Gymnasium's hands; what it asks of the physics is in ours

            def simulate(action: Any, count: int) -> None:
                physics(self._before, self._held)
                physics(action, count - self._held)

            base.do_simulation = simulate

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode, with nothing on its way."""
        space: Any = self.action_space
        self._coming = deque([neutral(space).astype(space.dtype)] * self._steps)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Do what was chosen some steps ago."""
        self._coming.append(action)
        self._before = self._coming.popleft()
        return self.env.step(self._coming[0] if self._held else self._before)
