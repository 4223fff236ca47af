"""From a name (or a factory) and dynamics to one environment or a pool of them."""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker.envs.delay import Delayed
from onlooker.envs.dynamics import apply
from onlooker.envs.engine import mujoco
from onlooker.envs.gym_pool import GymPool
from onlooker.envs.keywords import checked
from onlooker.envs.length import lift, lowest_point
from onlooker.envs.memory import check_room, of_robot
from onlooker.envs.pool import MujocoPool, Pool
from onlooker.envs.robot_env import RobotEnv
from onlooker.envs.robots import TASKS
from onlooker.envs.world import Dynamics, World, check_limit, is_robot_file
from onlooker.errors import UserError, nearest
from onlooker.failures import first_line, place
from onlooker.importing import from_path, module_of

EnvSource = str | Callable[..., gym.Env]
"""A Gymnasium id, `module:Id-v0` for one that a module registers, a robot's own `file.xml`, a `module:factory` path,
or the factory itself."""


def _hear_mujoco(message: str) -> None:
    """Pass MuJoCo's warnings on to Python's, but for one about HalfCheetah's XML that a user can do nothing about."""
    if "settotalmass" not in message:
        warnings.warn(f"MuJoCo: {message}", stacklevel=2)


mujoco.set_mju_user_warning(_hear_mujoco)  # without it, MuJoCo writes a log file into the working folder


def make_env(
    source: EnvSource,
    kwargs: Mapping[str, Any] | None = None,
    dynamics: Dynamics | None = None,
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
) -> gym.Env:
    """One Gymnasium environment in the changed world."""
    if max_episode_steps is not None:
        check_limit(max_episode_steps)
    drawn = {} if render_mode is None else {"render_mode": render_mode}
    env: gym.Env
    if is_robot_file(source):
        env = _from_file(str(source), kwargs, drawn)
    elif callable(source) or _names_factory(source):
        env = _call_factory(source, checked(kwargs) | drawn)
    else:  # Gymnasium's own limit is replaced: around it, a longer one would never be reached
        limited = {"max_episode_steps": max_episode_steps} if max_episode_steps else {}
        env = _make_registered(source, kwargs, drawn | limited)
    own = env.settings.time_limit if isinstance(env, RobotEnv) else None
    if dynamics is not None and dynamics.of_model.changes:
        _change(source, env.unwrapped, dynamics.of_model)
    _check_spaces(source, env)
    if dynamics is not None and dynamics.delay:
        env = Delayed(env, dynamics.delay)
    limit = max_episode_steps or time_limit(env) or own
    if limit is None:
        raise UserError(f"{_name(source)} has no time limit; give one with --max-episode-steps, for example 1000")
    check_limit(limit)
    return gym.wrappers.TimeLimit(env, limit) if time_limit(env) != limit else env


def _change(source: EnvSource, env: Any, dynamics: Dynamics) -> None:
    """Edit the model of an environment, and what the environment has copied from it."""
    model = getattr(env, "model", None)
    if not isinstance(model, mujoco.MjModel):
        raise UserError(f"{_name(source)} has no MuJoCo model, so its {', '.join(dynamics.changes)} can't be changed")
    first = getattr(env, "init_qpos", None) if dynamics.length != 1 else None
    lowest = None if first is None else lowest_point(model, first)
    apply(dynamics, model)
    if first is not None and lowest is not None:
        lift(model, first, lowest)  # longer legs would begin in the floor
    if dynamics.timestep != 1 and hasattr(env, "dt"):
        env.metadata = {**env.metadata, "render_fps": max(1, round(1 / env.dt))}


def make_pool(
    source: EnvSource,
    num_envs: int,
    seed: int,
    kwargs: Mapping[str, Any] | None = None,
    dynamics: Dynamics | None = None,
    max_episode_steps: int | None = None,
    threads: int | None = None,
) -> Pool:
    """N environments in the changed world: in threads for the robots that we know, on Gymnasium for everything else."""

    def make() -> gym.Env:
        return make_env(source, kwargs, dynamics, max_episode_steps)

    env = make()
    limit = time_limit(env)
    assert limit is not None
    # Only an environment made by its id is known to have no wrapper that changes what it computes.
    by_name = isinstance(source, str) and (is_robot_file(source) or ":" not in source)
    task = TASKS.get(type(env.unwrapped)) if by_name else None
    assert isinstance(env.action_space, gym.spaces.Box)
    model = getattr(env.unwrapped, "model", None)
    robot = of_robot(model) if isinstance(model, mujoco.MjModel) else 0
    if task is None:
        env.close()
        played = 8 * limit * int(np.prod(env.action_space.shape))
        check_room(num_envs, robot + played)
        return GymPool(make, num_envs, seed, limit)
    check_room(num_envs, robot)
    threads = threads or len(
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    known = _called(_name(source), task, env.unwrapped)
    delay = 0 if dynamics is None else dynamics.delay
    return MujocoPool(known, num_envs, seed, limit, env.action_space, threads, delay)


def pool_for(world: World, num_envs: int, seed: int, threads: int | None = None) -> Pool:
    """A pool of environments in this world, freshly reset."""
    pool = make_pool(world.env, num_envs, seed, world.env_kwargs, world.resolve(), world.max_episode_steps, threads)
    pool.reset()
    return pool


def time_limit(env: gym.Env) -> int | None:
    """After how many steps the outermost time limit cuts an episode, None without one."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            return env._max_episode_steps
        env = env.env
    return None


def _name(source: EnvSource) -> str:
    return source if isinstance(source, str) else getattr(source, "__name__", "the environment")


def _names_factory(source: str) -> bool:
    """`module:factory`, and not `module:Id-v0`: an id is no Python name."""
    return ":" in source and source.partition(":")[2].isidentifier()


def _make_registered(source: str, kwargs: Mapping[str, Any] | None, more: dict[str, Any]) -> gym.Env:
    """An environment by its id; in `module:Id-v0`, the module registers it when it is imported."""
    module, _, name = source.rpartition(":")
    if module:
        module_of(source, "environment")
    if name not in gym.registry:
        # Only the newest version of each is worth suggesting.
        newest: dict[str, gym.envs.registration.EnvSpec] = {}
        for spec in gym.registry.values():
            if "/" not in spec.id and (
                spec.name not in newest or (spec.version or 0) > (newest[spec.name].version or 0)
            ):
                newest[spec.name] = spec
        raise UserError(f"unknown environment {name!r}{nearest(name, [spec.id for spec in newest.values()])}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*out of date")  # who asks for an old version knows
        return _called(name, gym.make, name, **checked(kwargs, name), **more)


def _from_file(source: str, kwargs: Mapping[str, Any] | None, drawn: dict[str, Any]) -> RobotEnv:
    if kwargs:
        beside = Path(source).with_suffix(".toml").name
        raise UserError(f"a robot from its file takes no keywords ({', '.join(kwargs)}): write {beside} beside it")
    return RobotEnv(source, **drawn)


def _call_factory(source: EnvSource, kwargs: dict[str, Any]) -> gym.Env:
    if isinstance(source, str):
        factory = from_path(source, "environment factory")
    else:
        factory = source
    env = _called(_name(source), factory, **kwargs)
    if not isinstance(env, gym.Env):
        raise UserError(f"{_name(source)} made a {type(env).__name__}, not a gymnasium.Env")
    return env


def _called(name: str, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except UserError:
        raise
    except Exception as failure:
        raise UserError(f"can't make {name}: {first_line(failure)}{place(failure)}") from failure


def _check_spaces(source: EnvSource, env: gym.Env) -> None:
    for what, space in (("observation", env.observation_space), ("action", env.action_space)):
        if not isinstance(space, gym.spaces.Box) or not space.shape:
            raise UserError(
                f"{_name(source)} has a {type(space).__name__} {what} space; only Box spaces of rank 1 or more work"
            )
