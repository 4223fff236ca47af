"""Many environments stepped together, one batch of actions at a time, with automatic reset.

`Pool` is the interface; `MujocoPool` steps MuJoCo in threads and costs little more than the physics itself;
`GymPool`, in `gym_pool`, runs any other Gymnasium environment. Both start every episode from a seed of its own, made
from the run's seed, the environment's index and the episode's number, so that no random state has to be saved to
resume a run.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import gymnasium as gym
import numpy as np

from onlooker.envs import stopwatch
from onlooker.envs.crew import Crew
from onlooker.envs.delay import neutral, split
from onlooker.envs.engine import mujoco
from onlooker.envs.tasks import Task


class Transition(NamedTuple):
    """One control step of N environments."""

    next_obs: np.ndarray  # [N, D] the true successor, before any reset
    reward: np.ndarray  # [N]
    terminated: np.ndarray  # [N] the episode ended for good
    truncated: np.ndarray  # [N] the time limit cut it: the future would have gone on


class Pool(ABC):
    """N environments; `obs` [N, D] is where they stand now, after any reset."""

    has_reward = True
    """Whether the environment has a reward of its own; a robot from its file has none, and gives 0."""
    forward_speed: np.ndarray | None = None
    """How fast each moved forward in its last step, m/s [N], where there is something to follow; 0 before the first."""

    def __init__(self, num_envs: int, seed: int, max_episode_steps: int, action_space: gym.spaces.Box) -> None:
        self.num_envs, self.seed, self.max_episode_steps = num_envs, seed, max_episode_steps
        self.action_low, self.action_high = action_space.low, action_space.high
        self.action_size = int(np.prod(action_space.shape))
        self.episode = np.zeros(num_envs, np.int64)  # how many episodes each environment has begun
        self.elapsed = np.zeros(num_envs, np.int64)  # steps since its reset
        self.obs = np.zeros((num_envs, 0))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest action [A], as a policy keeps them."""
        return self.action_low.reshape(-1).astype(np.float32), self.action_high.reshape(-1).astype(np.float32)

    @property
    def obs_size(self) -> int:
        """How many numbers an observation has."""
        return self.obs.shape[1]

    def episode_seed(self, index: int) -> int:
        """The seed from which environment `index` starts its present episode."""
        return int(np.random.SeedSequence([self.seed, index, int(self.episode[index])]).generate_state(1)[0])

    def reset(self) -> None:
        """Start every environment anew."""
        self._restart(np.arange(self.num_envs))

    def step(self, action: np.ndarray) -> Transition:
        """Apply actions [N, A]; environments whose episode ended are reset, and `obs` shows their new start."""
        next_obs, reward, terminated, truncated = self._advance(action)
        self.elapsed += 1
        truncated = truncated | (self.elapsed >= self.max_episode_steps)  # both may be true, as in Gymnasium
        self.obs = next_obs
        ended = terminated | truncated
        if ended.any():
            self.obs = next_obs.copy()
            self._restart(np.flatnonzero(ended))
        return Transition(next_obs, reward, terminated, truncated)

    def _restart(self, indices: np.ndarray) -> None:
        self.episode[indices] += 1
        self.elapsed[indices] = 0
        self.obs[indices] = self._begin(indices)

    @abstractmethod
    def _advance(self, action: np.ndarray) -> Transition:
        """One control step, without reset and without time limit of ours."""

    @abstractmethod
    def _begin(self, indices: np.ndarray) -> np.ndarray:
        """Reset these environments from their episode seeds; their first observations."""

    @abstractmethod
    def save(self) -> dict[str, np.ndarray]:
        """All that `load` needs to go on exactly from here."""

    @abstractmethod
    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what `save` gave."""

    @abstractmethod
    def close(self) -> None:
        """Let go of threads and environments."""


class MujocoPool(Pool):
    """N copies of a robot on threads. A step equals Gymnasium's own to the last digits."""

    # Everything that the next mj_step depends on, warm start of the solver included.
    STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)

    def __init__(
        self,
        task: Task,
        num_envs: int,
        seed: int,
        max_episode_steps: int,
        action_space: gym.spaces.Box,
        threads: int,
        delay: float = 0,
    ) -> None:
        super().__init__(num_envs, seed, max_episode_steps, action_space)
        self._rest = neutral(action_space)
        coming, self._held = split(delay, task.frame_skip)
        self._late = np.zeros((num_envs, coming, self.action_size))  # actions on their way, the oldest first
        self.task, self.model = task, task.model
        self.has_reward = task.has_reward
        self.forward_speed = None if task.speed is None else np.zeros(num_envs)
        self.data = [mujoco.MjData(self.model) for _ in range(num_envs)]
        self._controls = [data.ctrl for data in self.data]
        self._arrays = [array for data in self.data for array in task.row.arrays(data)]
        self._rows = self._read_rows()
        self.obs = task.observe(self._rows).copy()
        self._count = task.frame_skip  # physics steps at a time
        self._crew = Crew(self._simulate, min(threads, num_envs))
        stopwatch.stop()

    def _simulate(self, data: mujoco.MjData) -> None:
        mujoco.mj_step(self.model, data, self._count)
        if self.task.feels_forces:
            mujoco.mj_rnePostConstraint(self.model, data)

    def _read_rows(self) -> np.ndarray:
        return np.concatenate(self._arrays).reshape(self.num_envs, -1)

    def _arrived(self, action: np.ndarray) -> np.ndarray:
        """The actions that are done now, if these are chosen now; what is still held from before is done."""
        coming = np.concatenate([self._late, action[:, None]], axis=1).astype(action.dtype)
        self._late = coming[:, 1:]
        if self._held:
            self._do(coming[:, 0], self._held)
        return coming[:, 1 if self._held else 0]

    def _do(self, action: np.ndarray, count: int) -> None:
        for control, chosen in zip(self._controls, action):
            control[:] = chosen
        self._count = count
        self._crew.run(self.data)

    def _advance(self, action: np.ndarray) -> Transition:
        if self._late.shape[1]:
            action = self._arrived(action)
        self._do(action, self.task.frame_skip - self._held)
        before, self._rows = self._rows, self._read_rows()
        reward, terminated = self.task.judge(before, self._rows, action)
        if self.task.speed is not None:
            self.forward_speed = self.task.speed(before, self._rows)
        return Transition(self.task.observe(self._rows), reward, terminated, np.zeros(self.num_envs, bool))

    def _begin(self, indices: np.ndarray) -> np.ndarray:
        self._rows = self._rows.copy()  # an observation may be a view of them
        self._late[indices] = self._rest
        for index in indices:
            data = self.data[index]
            if self.task.key < 0:
                mujoco.mj_resetData(self.model, data)
            else:
                mujoco.mj_resetDataKeyframe(self.model, data, self.task.key)
            rng, _ = gym.utils.seeding.np_random(self.episode_seed(index))
            data.qpos[:], data.qvel[:] = self.task.start(rng)
            mujoco.mj_forward(self.model, data)
            self._rows[index] = np.concatenate(self.task.row.arrays(data))
        return self.task.observe(self._rows[indices])

    def save(self) -> dict[str, np.ndarray]:
        """Physics, counters, and what the tasks saw last."""
        physics = np.empty((self.num_envs, mujoco.mj_stateSize(self.model, self.STATE)))
        for state, data in zip(physics, self.data):
            mujoco.mj_getState(self.model, data, state, self.STATE)
        saved = {
            "physics": physics,
            "rows": self._rows.copy(),
            "obs": self.obs.copy(),
            "episode": self.episode.copy(),
            "elapsed": self.elapsed.copy(),
        }
        return saved | {"late": self._late.copy()} if self._late.size else saved

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what `save` gave."""
        for state, data in zip(saved["physics"], self.data):
            mujoco.mj_setState(self.model, data, state, self.STATE)
        self._rows, self.obs = saved["rows"].copy(), saved["obs"].copy()
        self.episode, self.elapsed = saved["episode"].copy(), saved["elapsed"].copy()
        if self._late.size:
            self._late = saved["late"].copy()

    def close(self) -> None:
        """End the threads."""
        self._crew.close()
