"""Policy x pool -> rollout: the only seam between numpy and JAX."""

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from onlooker.envs.pool import Pool
from onlooker.errors import UserError
from onlooker.policies.acting import HostPolicy
from onlooker.types import Episodes, Rollout, Steps

WINDOW = 100_000  # `return` is the mean over the episodes that ended within this many steps


class Ended(NamedTuple):
    """An episode that ended, for reporting."""

    step: int  # of the whole run, at the end of its rollout
    ret: float
    length: int


class Collector:
    """Collects rollouts of `length` steps from every environment of a pool, and whole episodes across them."""

    def __init__(self, pool: Pool, length: int, seed: int) -> None:
        self.pool, self.length, self.seed = pool, length, seed
        count, horizon = pool.num_envs, pool.max_episode_steps
        self._obs = np.zeros((count, horizon, pool.obs_size), np.float32)  # of the unfinished episodes
        self._action = np.zeros((count, horizon, pool.action_size), np.float32)
        self.forward_speed: float | None = None  # m/s, the mean of the last rollout, if the pool tells it
        self._so_far = np.zeros(count, np.int64)
        self._return = np.zeros(count)
        # No rollout can finish more than this: what was unfinished, and itself. The arrays are large and mostly
        # padding, so they are made once; an update is over before the next rollout is cut.
        capacity, most = count * (horizon - 1 + length), count * length
        self._episodes = Episodes(
            obs=np.zeros((capacity, pool.obs_size), np.float32),
            action=np.zeros((capacity, pool.action_size), np.float32),
            owner=np.full(capacity, most, np.int32),
            start=np.zeros(most, np.int32),
            length=np.zeros(most, np.int32),
            fell=np.zeros(most, bool),
        )
        self._filled = 0  # rows of them that hold an episode
        self.recent: deque[Ended] = deque()
        self.steps = 0

    def collect(self, policy: HostPolicy, iteration: int) -> Rollout:
        """The next rollout. Its noise comes from the seed and the iteration alone."""
        pool, (length, count) = self.pool, (self.length, self.pool.num_envs)
        noise_rng = np.random.Generator(np.random.SFC64([self.seed, iteration]))
        noise = noise_rng.standard_normal((length, count, pool.action_size), np.float32)
        steps = Steps(
            obs=np.empty((length, count, pool.obs_size), np.float32),
            action=np.empty((length, count, pool.action_size), np.float32),
            next_obs=np.empty((length, count, pool.obs_size), np.float32),
            env_reward=np.empty((length, count), np.float32),
            terminated=np.empty((length, count), bool),
            truncated=np.empty((length, count), bool),
        )
        reward, speed = np.empty((length, count)), 0.0
        for t in range(length):
            steps.obs[t] = pool.obs
            draw = policy.draw(steps.obs[t], noise[t])
            steps.action[t] = draw
            steps.next_obs[t], reward[t], steps.terminated[t], steps.truncated[t] = pool.step(policy.action(draw))
            speed += 0.0 if pool.forward_speed is None else float(pool.forward_speed.mean()) / length
        steps.env_reward[:] = reward
        self.forward_speed = None if pool.forward_speed is None else speed
        self.steps += length * count
        seen = np.isfinite(steps.obs).all(-1)  # a NaN that the environment shows makes a NaN action too
        if not np.isfinite(steps.action[seen]).all():
            raise UserError(f"the policy's actions are NaN or infinite in iteration {iteration}: learning diverged")
        if not (seen.all() and np.isfinite(steps.next_obs).all() and np.isfinite(reward).all()):
            raise UserError(f"the environment returned NaN or infinite numbers in iteration {iteration}")
        return Rollout(steps, self._cut_episodes(steps, reward))

    def _cut_episodes(self, steps: Steps, reward: np.ndarray) -> Episodes:
        """Join what was unfinished with the rollout and cut at the ends; keep the rest for the next time."""
        count, episodes, before = self.pool.num_envs, self._episodes, self._filled
        episodes.obs[:before], episodes.action[:before], episodes.owner[:before] = 0, 0, count * self.length
        episodes.start[:], episodes.length[:], episodes.fell[:] = 0, 0, False
        row, number = 0, 0
        for env in range(count):
            begin = 0
            for end in np.flatnonzero(steps.ended[:, env]) + 1:
                early, late = int(self._so_far[env]), int(end) - begin
                for whole, unfinished, new in (
                    (episodes.obs, self._obs, steps.obs),
                    (episodes.action, self._action, steps.action),
                ):
                    whole[row : row + early] = unfinished[env, :early]
                    whole[row + early : row + early + late] = new[begin:end, env]
                episodes.start[number], episodes.length[number] = row, early + late
                episodes.owner[row : row + early + late] = number
                episodes.fell[number] = steps.terminated[end - 1, env]
                self._report(self._return[env] + reward[begin:end, env].sum(), int(early + late))
                row, number, begin = row + early + late, number + 1, int(end)
                self._so_far[env], self._return[env] = 0, 0.0
            rest = slice(self._so_far[env], self._so_far[env] + self.length - begin)
            self._obs[env, rest], self._action[env, rest] = steps.obs[begin:, env], steps.action[begin:, env]
            self._so_far[env] = rest.stop
            self._return[env] += reward[begin:, env].sum()
        self._filled = row
        return episodes

    def _report(self, ret: float, length: int) -> None:
        self.recent.append(Ended(self.steps, float(ret), length))

    def summary(self) -> dict[str, float]:
        """Mean true return and length of the episodes that ended in the last 100,000 steps; NaN before the first.

        A robot without a reward has no return. One whose pool tells its speed has the mean of the last rollout.
        """
        while self.recent and self.recent[0].step <= self.steps - WINDOW:
            self.recent.popleft()
        if not self.recent:
            told = {"return": np.nan, "episode_length": np.nan, "episodes": 0}
        else:
            _, returns, lengths = np.array(self.recent).T
            told = {"return": returns.mean(), "episode_length": lengths.mean(), "episodes": len(returns)}
        if not self.pool.has_reward:
            told["return"] = np.nan
        return told if self.forward_speed is None else told | {"forward_speed": self.forward_speed}

    def save(self) -> dict[str, Any]:
        """All that `load` needs to go on exactly from here."""
        longest = max(1, int(self._so_far.max()))
        return {
            "pool": self.pool.save(),
            "obs": self._obs[:, :longest].copy(),
            "action": self._action[:, :longest].copy(),
            "so_far": self._so_far.copy(),
            "return": self._return.copy(),
            "recent": np.array(self.recent, float).reshape(-1, 3),
            "steps": np.array(self.steps),
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from what `save` gave."""
        self.pool.load(saved["pool"])
        longest = saved["obs"].shape[1]
        self._obs[:, :longest], self._action[:, :longest] = saved["obs"], saved["action"]
        self._so_far, self._return = saved["so_far"].copy(), saved["return"].copy()
        self.recent = deque(Ended(int(step), ret, int(length)) for step, ret, length in saved["recent"])
        self.steps = int(saved["steps"])
