"""Many environments stepped together, one batch of actions at a time, with automatic reset.

`Pool` is the interface; `MujocoPool` steps MuJoCo in threads and costs little more than the physics itself;
`GymPool` runs any other Gymnasium environment. Both start every episode from a seed of its own, made from the run's
seed, the environment's index and the episode's number, so that no random state has to be saved to resume a run.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from onlooker.envs.engine import mujoco
from onlooker.envs.tasks import HalfCheetah
from onlooker.errors import UserError


class Transition(NamedTuple):
    """One control step of N environments."""

    next_obs: np.ndarray  # [N, D] the true successor, before any reset
    reward: np.ndarray  # [N]
    terminated: np.ndarray  # [N] the episode ended for good
    truncated: np.ndarray  # [N] the time limit cut it: the future would have gone on


class Pool(ABC):
    """N environments; `obs` [N, D] is where they stand now, after any reset."""

    def __init__(self, num_envs: int, seed: int, max_episode_steps: int, action_space: gym.spaces.Box) -> None:
        self.num_envs, self.seed, self.max_episode_steps = num_envs, seed, max_episode_steps
        self.action_low, self.action_high = action_space.low, action_space.high
        self.action_size = int(np.prod(action_space.shape))
        self.episode = np.zeros(num_envs, np.int64)  # how many episodes each environment has begun
        self.elapsed = np.zeros(num_envs, np.int64)  # steps since its reset
        self.obs = np.zeros((num_envs, 0))

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
    """N copies of one of the four robots on threads. A step equals Gymnasium's own to the last digits."""

    # Everything that the next mj_step depends on, warm start of the solver included.
    STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)

    def __init__(
        self,
        task: HalfCheetah,
        num_envs: int,
        seed: int,
        max_episode_steps: int,
        action_space: gym.spaces.Box,
        threads: int,
    ) -> None:
        super().__init__(num_envs, seed, max_episode_steps, action_space)
        self.task, self.model = task, task.model
        self.data = [mujoco.MjData(self.model) for _ in range(num_envs)]
        self._controls = [data.ctrl for data in self.data]
        self._watched = [array for data in self.data for array in task.watch(data)]
        self._rows = self._read_rows()
        self.obs = task.observe(self._rows).copy()
        self._crew = Crew(self._simulate, min(threads, num_envs))

    def _simulate(self, data: mujoco.MjData) -> None:
        mujoco.mj_step(self.model, data, self.task.frame_skip)
        if self.task.feels_forces:
            mujoco.mj_rnePostConstraint(self.model, data)

    def _read_rows(self) -> np.ndarray:
        return np.concatenate(self._watched).reshape(self.num_envs, -1)

    def _advance(self, action: np.ndarray) -> Transition:
        for control, chosen in zip(self._controls, action):
            control[:] = chosen
        self._crew.run(self.data)
        before, self._rows = self._rows, self._read_rows()
        reward, terminated = self.task.judge(before, self._rows, action)
        return Transition(self.task.observe(self._rows), reward, terminated, np.zeros(self.num_envs, bool))

    def _begin(self, indices: np.ndarray) -> np.ndarray:
        self._rows = self._rows.copy()  # an observation may be a view of them
        for index in indices:
            data = self.data[index]
            mujoco.mj_resetData(self.model, data)
            rng, _ = gym.utils.seeding.np_random(self.episode_seed(index))
            data.qpos[:], data.qvel[:] = self.task.start(rng)
            mujoco.mj_forward(self.model, data)
            self._rows[index] = np.concatenate(self.task.watch(data))
        return self.task.observe(self._rows[indices])

    def save(self) -> dict[str, np.ndarray]:
        """Physics, counters, and what the tasks saw last."""
        physics = np.empty((self.num_envs, mujoco.mj_stateSize(self.model, self.STATE)))
        for state, data in zip(physics, self.data):
            mujoco.mj_getState(self.model, data, state, self.STATE)
        return {
            "physics": physics,
            "rows": self._rows.copy(),
            "obs": self.obs.copy(),
            "episode": self.episode.copy(),
            "elapsed": self.elapsed.copy(),
        }

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Go on from what `save` gave."""
        for state, data in zip(saved["physics"], self.data):
            mujoco.mj_setState(self.model, data, state, self.STATE)
        self._rows, self.obs = saved["rows"].copy(), saved["obs"].copy()
        self.episode, self.elapsed = saved["episode"].copy(), saved["elapsed"].copy()

    def close(self) -> None:
        """End the threads."""
        self._crew.close()


class Crew:
    """Threads that share out a list of jobs; the caller works too. Every job is done when `run` returns.

    The only Python between two jobs is taking the next one, because the threads contend for the interpreter there.
    """

    def __init__(self, do: Callable[[Any], None], threads: int) -> None:
        self._do = do
        self._jobs: Iterator[Any] = iter(())
        self._failure: BaseException | None = None
        # Bare locks, taken by one thread and released by the other: a tenth of the price of a semaphore.
        self._go = [threading.Lock() for _ in range(threads - 1)]
        self._done = [threading.Lock() for _ in range(threads - 1)]
        for lock in (*self._go, *self._done):
            lock.acquire()
        self._open = True
        for go, done in zip(self._go, self._done):
            threading.Thread(target=self._serve, args=(go, done), daemon=True).start()

    def run(self, jobs: list) -> None:
        """Do every job once, in any order."""
        self._jobs = iter(jobs)
        for go in self._go:
            go.release()
        self._work()
        for done in self._done:
            done.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def close(self) -> None:
        """End the threads."""
        self._open = False
        for go in self._go:
            go.release()

    def _serve(self, go: threading.Lock, done: threading.Lock) -> None:
        while go.acquire() and self._open:
            self._work()
            done.release()

    def _work(self) -> None:
        do = self._do
        try:
            for job in self._jobs:  # one shared iterator: taking the next job is atomic
                do(job)
        except BaseException as failure:
            self._failure = failure


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
            said = " ".join(str(failure).split())  # in one line
            raise UserError(f"the environment failed: {type(failure).__name__}: {said}") from failure
