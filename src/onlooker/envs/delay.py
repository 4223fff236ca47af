"""Actions that arrive late."""

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np


def neutral(space: gym.spaces.Box) -> np.ndarray:
    """What is done before the first action has arrived: 0, or what is nearest to it within the bounds."""
    return np.clip(np.zeros(space.shape), space.low, space.high)


class Delayed(gym.Wrapper):
    """Every action is done `steps` control steps after it was chosen."""

    def __init__(self, env: gym.Env, steps: int) -> None:
        super().__init__(env)
        self._steps = steps
        self._coming: deque[Any] = deque()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode, with nothing on its way."""
        space: Any = self.action_space
        self._coming = deque([neutral(space).astype(space.dtype)] * self._steps)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Do what was chosen some steps ago."""
        self._coming.append(action)
        return self.env.step(self._coming.popleft())
