"""How good a policy is: whole deterministic episodes from fixed seeds, observation statistics frozen."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlooker import __version__
from onlooker.demos import Demos
from onlooker.envs.make import pool_for
from onlooker.envs.pool import Pool
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.policies.policy import Acts

SEED = 2**32  # one more than a run's seed can be: evaluation episodes start where no training episode does


class Recording(NamedTuple):
    """One whole episode of T steps."""

    obs: np.ndarray  # [T, D]
    action: np.ndarray  # [T, A] as given to the environment
    next_obs: np.ndarray  # [T, D]
    reward: np.ndarray  # [T]
    terminated: bool  # or else cut by the time limit
    forward_speed: float | None = None  # m/s, the mean, where there is something to follow

    @property
    def ret(self) -> float:
        """The undiscounted true return; NaN where there is no reward."""
        return float(self.reward.sum())


Behaviour = Callable[[np.ndarray], np.ndarray]
"""Observations [N, D] -> actions [N, A] for the environment."""


def record(pool: Pool, act: Behaviour) -> list[Recording]:
    """The first episode of every environment of a fresh pool."""
    rows: list[list[tuple]] = [[] for _ in range(pool.num_envs)]
    recordings: dict[int, Recording] = {}
    while len(recordings) < pool.num_envs:
        obs = pool.obs.copy()
        action = act(obs)
        next_obs, reward, terminated, truncated = pool.step(action)
        if not (np.isfinite(next_obs).all() and np.isfinite(reward).all()):
            raise UserError("the environment returned NaN or infinite numbers")
        for i in set(range(pool.num_envs)) - recordings.keys():
            speed = 0.0 if pool.forward_speed is None else pool.forward_speed[i]
            rows[i].append((obs[i], action[i], next_obs[i], reward[i], speed))
            if terminated[i] or truncated[i]:
                obs_rows, actions, successors, rewards, speeds = (np.array(column) for column in zip(*rows[i]))
                rewards = rewards if pool.has_reward else np.full_like(rewards, np.nan)
                mean_speed = None if pool.forward_speed is None else float(speeds.mean())
                whole = Recording(obs_rows, actions, successors, rewards, bool(terminated[i]), mean_speed)
                recordings[i] = whole
    return [recordings[i] for i in range(pool.num_envs)]


def by_policy(policy: Acts) -> Callable[[Pool], Behaviour]:
    """Act as the policy thinks best: on the mean of its Gaussian."""

    def behave(pool: Pool) -> Behaviour:
        expected, given = policy.obs_size, pool.obs_size
        if expected != given:
            raise UserError(f"the policy expects observations of {expected} numbers, the environment gives {given}")
        if policy.action_size != pool.action_size:
            raise UserError(f"the policy has {policy.action_size} actions, the environment {pool.action_size}")
        return lambda obs: policy.means(obs.astype(np.float32))

    return behave


def by_chance(pool: Pool) -> Behaviour:
    """Act uniformly at random within the bounds; where there are none, by a standard normal."""
    rng, low, high = np.random.default_rng(SEED), pool.action_low.ravel(), pool.action_high.ravel()
    if np.isfinite(low).all() and np.isfinite(high).all():
        return lambda obs: rng.uniform(low, high, (len(obs), pool.action_size))
    return lambda obs: np.clip(rng.standard_normal((len(obs), pool.action_size)), low, high)


def by_rest(pool: Pool) -> Behaviour:
    """Never act: standing still."""
    return lambda obs: np.zeros((len(obs), pool.action_size))


def evaluate(world: World, behave: Callable[[Pool], Behaviour], episodes: int = 10) -> list[Recording]:
    """Whole episodes in a world."""
    if episodes < 1:
        raise UserError(f"--episodes must be at least 1, not {episodes}")
    pool = pool_for(world, episodes, SEED)
    try:
        return record(pool, behave(pool))
    finally:
        pool.close()


def reference_returns(world: World, shown: Any) -> dict[str, float]:
    """What a return is compared with: random actions, no action, and the demonstration if its returns are known."""
    returns = {
        "random_return": summarize(evaluate(world, by_chance))["return_mean"],
        "zero_return": summarize(evaluate(world, by_rest))["return_mean"],
    }
    known = shown.returns() if isinstance(shown, Demos) else None
    return returns if known is None else returns | {"demo_return": float(known.mean())}


def summarize(recordings: list[Recording]) -> dict[str, float]:
    """return_mean, return_std, length_mean, episodes; and forward_speed_mean where it is known."""
    returns = np.array([recording.ret for recording in recordings])
    lengths = np.array([len(recording.reward) for recording in recordings])
    speeds = [recording.forward_speed for recording in recordings if recording.forward_speed is not None]
    return {
        "return_mean": float(returns.mean()),
        "return_std": float(returns.std()),
        "length_mean": float(lengths.mean()),
        "episodes": len(recordings),
        **({"forward_speed_mean": float(np.mean(speeds))} if speeds else {}),
    }


def to_demos(recordings: list[Recording], world: World, made: dict[str, Any]) -> Demos:
    """Episodes one after the other, with where they come from. Their successors are left out: the next row has them."""
    ends = np.cumsum([len(recording.reward) for recording in recordings]) - 1
    terminated, truncated = np.zeros(ends[-1] + 1, bool), np.zeros(ends[-1] + 1, bool)
    for end, recording in zip(ends, recordings):
        terminated[end], truncated[end] = recording.terminated, not recording.terminated
    returns = [recording.ret for recording in recordings]
    return Demos(
        obs=np.concatenate([recording.obs for recording in recordings]),
        action=np.concatenate([recording.action for recording in recordings]),
        terminated=terminated,
        truncated=truncated,
        lengths=np.diff(ends, prepend=-1),
        meta={
            "env": world.env,
            "env_kwargs": world.env_kwargs,
            "dynamics": world.resolve().changes,
            **({"returns": returns} if np.isfinite(returns).all() else {}),
            "policy": made,
            "recorded_by": f"onlooker {__version__}",
        },
    )
