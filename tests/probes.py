"""Environments whose right answer is known, and environments that misbehave."""

from typing import Any

import gymnasium as gym
import numpy as np

UNIT = gym.spaces.Box(-1, 1, (1,), np.float32)


class Probe(gym.Env):
    """One action, reward 1 a step; seen is how many steps are over. Terminates after `length` steps."""

    observation_space: gym.Space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space: gym.Space = UNIT

    def __init__(self, length: int = 1) -> None:
        self.length, self.steps = length, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        reward = self.reward(float(np.ravel(action)[0]))
        self.steps += 1
        return self.observe(), reward, self.steps == self.length, False, {}

    def observe(self) -> Any:
        return np.array([self.steps], np.float32)

    def reward(self, action: float) -> float:
        return 1.0


class Endless(Probe):
    """Reward 1 for ever, and no step looks different from another."""

    def __init__(self) -> None:
        super().__init__(length=0)

    def observe(self) -> np.ndarray:
        return np.zeros(1, np.float32)


class Aim(Probe):
    """The best action is 0.5, whatever is seen."""

    def reward(self, action: float) -> float:
        return -((action - 0.5) ** 2)


class Delayed(Probe):
    """Two steps; only the second is rewarded."""

    def __init__(self) -> None:
        super().__init__(length=2)

    def reward(self, action: float) -> float:
        return float(self.steps == 1)


class Follow(Probe):
    """The best action is half the number that is seen."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict]:
        gym.Env.reset(self, seed=seed)
        self.seen = self.np_random.uniform(-1, 1)
        return super().reset()

    def observe(self) -> np.ndarray:
        return np.array([self.seen], np.float32)

    def reward(self, action: float) -> float:
        return -((action - 0.5 * self.seen) ** 2)


class Stroll(gym.Env):
    """A random walk of 2 x 3 numbers, noisy in every step, that ends when a number leaves +-2."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2, 3), np.float64)
    action_space = gym.spaces.Box(-1, 3, (3,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, (2, 3))
        return self.place.copy(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.place += 0.2 * (action - 1) + 0.2 * self.np_random.standard_normal((2, 3))
        return self.place.copy(), float(self.place.sum() - action[0]), bool((abs(self.place) > 2).any()), False, {}


class Breaks(Probe):
    """Goes wrong at the step number `at` of its life (all episodes together)."""

    def __init__(self, at: int, how: str) -> None:
        super().__init__(length=5)
        self.at, self.how, self.age = at, how, 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.age += 1
        if self.age == self.at and self.how == "raise":
            raise RuntimeError("the motor\nburnt out")
        obs, reward, terminated, truncated, info = super().step(action)
        if self.age == self.at:
            obs = obs * np.nan if self.how == "nan-obs" else obs
            reward = {"nan-reward": np.nan, "inf-reward": np.inf}.get(self.how, reward)
        return obs, reward, terminated, truncated, info


class DiscreteActions(Probe):
    action_space = gym.spaces.Discrete(2)


class DictObservations(Probe):
    observation_space = gym.spaces.Dict({"a": UNIT})


class UnboundedActions(Aim):
    action_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)


def not_an_env() -> str:
    return "hello"
