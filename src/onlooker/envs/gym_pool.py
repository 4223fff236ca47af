"""A pool of any Gymnasium environments, for all that has no fast path."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from onlooker.envs.pool import Pool, Transition
from onlooker.errors import UserError
from onlooker.failures import told


class GymPool(Pool):
    """Any Gymnasium environments with Box spaces, on Gymnasium's own vector environment."""

    def __init__(self, make: Callable[[], gym.Env], num_envs: int, seed: int, max_episode_steps: int) -> None:
        self._envs = SyncVectorEnv([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED)
        space = self._envs.single_action_space
        assert isinstance(space, gym.spaces.Box)
        super().__init__(num_envs, seed, max_episode_steps, space)
        size = int(np.prod(self._envs.single_observation_space.shape or ()))
        self.obs = np.zeros((num_envs, size))
        # An environment's inner state cannot be saved in general. Its first seed and its actions since can, and
        # playing them again leads to the same place.
        self._played = np.zeros((num_envs, max_episode_steps, self.action_size))

    def _advance(self, action: np.ndarray) -> Transition:
        self._played[np.arange(self.num_envs), self.elapsed] = action
        space = self._envs.single_action_space
        shaped = action.reshape(self.num_envs, *(space.shape or ())).astype(space.dtype)
        obs, reward, terminated, truncated, _ = self._guard(self._envs.step, shaped)
        return Transition(self._flat(obs), np.array(reward, float), np.array(terminated), np.array(truncated))

    def _begin(self, indices: np.ndarray) -> np.ndarray:
        chosen = np.zeros(self.num_envs, bool)
        chosen[indices] = True
        seeds = [self.episode_seed(i) for i in range(self.num_envs)]
        obs, _ = self._guard(self._envs.reset, seed=seeds, options={"reset_mask": chosen})
        return self._flat(obs)[indices]

    def save(self) -> dict[str, np.ndarray]:
        """Counters and the actions of the unfinished episodes."""
        played = self._played[:, : max(1, int(self.elapsed.max()))]
        return {"played": played.copy(), "episode": self.episode.copy(), "elapsed": self.elapsed.copy()}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Begin each unfinished episode from its seed and play its actions again."""
        self.episode, elapsed = saved["episode"].copy(), saved["elapsed"]
        self._played[:, : saved["played"].shape[1]] = saved["played"]
        self.elapsed[:] = 0
        self.obs = self._begin(np.arange(self.num_envs)).copy()
        for index, env in enumerate(self._envs.envs):
            space = env.action_space
            for action in saved["played"][index, : elapsed[index]]:
                obs, *_ = self._guard(env.step, action.reshape(space.shape or ()).astype(space.dtype))
                self.obs[index] = np.asarray(obs).reshape(-1)
        self.elapsed = elapsed.copy()

    def close(self) -> None:
        """Close the environments."""
        self._envs.close()

    def _flat(self, obs: Any) -> np.ndarray:
        return np.array(obs, float).reshape(self.num_envs, -1)

    @staticmethod
    def _guard(call: Callable, *args: Any, **kwargs: Any) -> Any:
        """An error inside somebody's environment is named as such."""
        try:
            return call(*args, **kwargs)
        except Exception as failure:
            raise UserError(f"the environment failed: {told(failure)}") from failure
