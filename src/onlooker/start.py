"""From a config to a run folder that is ready to train: everything is checked before anything is written."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from onlooker import demos
from onlooker.config import Config
from onlooker.demos import Demos, shipped
from onlooker.envs.make import make_env, time_limit
from onlooker.errors import UserError
from onlooker.methods import Problem
from onlooker.methods.watching import EDGE, within_bounds
from onlooker.runs.folder import RunFolder


def begin(config: Config, out: Path | None = None, demo: Any = None) -> RunFolder:
    """A new run folder. `demo` is a recording from memory in place of the one that the options name."""
    return RunFolder.create(out or default_folder(config), config, check(config, demo))


def check(config: Config, demo: Any = None) -> Demos | None:
    """Refuse what can't work, before anything is written; the part of the demonstrations that the method may see."""
    world = config.world
    env = make_env(world.env, world.env_kwargs, world.resolve(), world.max_episode_steps)
    env.close()
    bounds: Any = env.action_space
    shown = watch(config, demo)
    sizes = (math.prod(env.observation_space.shape or ()), math.prod(bounds.shape))
    limits = (config.budget.num_envs, time_limit(env) or 1, config.budget.iterations)
    problem = Problem(*sizes, *limits, bounds.low, bounds.high)
    method = config.options.build(problem, shown)  # refuses a recording that does not fit
    if method.policy.squash and not (np.isfinite(bounds.low).all() and np.isfinite(bounds.high).all()):
        raise UserError(f"{world.env} has no finite action bounds to squash actions into; use --policy.no-squash")
    if shown is not None and shown.action is not None and method.policy.squash:
        _say_if_clipped(shown.action, problem)
    return shown


def watch(config: Config, demo: Any = None) -> Demos | None:
    """The part of the demonstrations that the method may see."""
    options = config.options
    if options.needs == "nothing":
        return None
    source = demo if demo is not None else options.demo or _own_recording(config)
    if source is None:
        raise UserError(f"there is no shipped demonstration for {config.world.env}; give one with --demo FILE")
    recorded = demos.load(source).take(options.demo_episodes, options.demo_stride)
    if options.needs == "actions":
        if recorded.action is None:
            raise UserError(
                f"{config.method} needs a demonstration with actions; without them: i2l, gail-s, gaifo, bco"
            )
        return recorded
    if options.needs == "state pairs" and options.demo_stride > 1:
        raise UserError(f"{config.method} learns from successive states, so --demo-stride must be 1")
    return recorded.states_only()


def _own_recording(config: Config) -> str | None:
    """The shipped recording of the robot, with actions for those methods that need them."""
    robot = shipped.robot_of(config.world.env)
    return f"{robot}-actions" if robot and config.options.needs == "actions" else robot


def _say_if_clipped(action: np.ndarray, problem: Problem) -> None:
    """Recordings found in the wild hold actions at and beyond the bounds, which no draw of a tanh gives."""
    beyond = np.abs(within_bounds(action, problem.action_low, problem.action_high)) > EDGE
    if beyond.any():
        warnings.warn(
            f"{beyond.mean():.0%} of the recorded action values lie at or beyond their bounds; they are taken for "
            "1 - 1e-6 of them, as the policy's tanh never reaches its bounds",
            UserWarning,
            stacklevel=3,
        )


def folder_name(config: Config) -> str:
    """METHOD-ENV-DYNAMICS-sSEED."""
    changes = [config.world.dynamics, *(f"{name}-{value}" for name, value in config.world.given().items())]
    name = "-".join([config.method, config.world.env.replace(":", "."), *changes, f"s{config.budget.seed}"])
    return "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in name)


def default_folder(config: Config) -> Path:
    """runs/METHOD-ENV-DYNAMICS-sSEED, with a number behind it while that is taken."""
    path, number = Path("runs") / folder_name(config), 2
    while path.exists():
        path, number = Path("runs") / f"{folder_name(config)}-{number}", number + 1
    return path
