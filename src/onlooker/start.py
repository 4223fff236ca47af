"""From a config to a run that is ready to train: everything is checked before anything is written."""

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlooker.config import Config
from onlooker.demos import Demos, shipped, simulated
from onlooker.envs.make import pool_for
from onlooker.errors import UserError
from onlooker.importing import allow
from onlooker.learning.compiled import keep_compiled
from onlooker.learning.squashing import EDGE, within_bounds
from onlooker.methods.compose import Problem
from onlooker.policies import policy_file
from onlooker.runs import layout
from onlooker.runs.folder import RunFolder
from onlooker.types import Method

MEMORY = 8 * 2**30  # bytes that a run's rollouts and buffers may take: more is a slip of the keyboard


class Ready(NamedTuple):
    """A run that can be trained: its folder, what its method is shown of the expert, and the method."""

    folder: RunFolder
    shown: Any
    method: Method


def begin(config: Config, out: Path | None = None, demo: Any = None) -> Ready:
    """A new run. `demo` is a recording from memory in place of the one that the options name."""
    keep_compiled()
    shown = show(config, demo)
    method = build(config, shown)
    if isinstance(shown, Demos) and (demo is not None or config.options.demo is not None):
        for oddity in simulated.odd(shown, config.world.env, config.world.env_kwargs, roll=False):
            warnings.warn(oddity, UserWarning, stacklevel=2)
    return Ready(RunFolder.create(out or default_folder(config), config, shown), shown, method)


def resume(path: Path, steps: int | None = None, trust: bool = False) -> Ready:
    """A run that was begun, to go on with; with `steps`, to more steps than it was begun with.

    `trust`: import the code that its config names, an environment or a method of somebody's own.
    """
    keep_compiled()
    if trust:
        allow_named(path)
    folder = RunFolder.open(path)
    if steps is not None and steps != folder.config.budget.steps:
        folder = _longer(folder, steps)
    shown = folder.read_shown()
    if shown is None and folder.config.options.needs != "nothing":
        raise UserError(f"{path} can't go on: the recording that it watches is gone from it")
    return Ready(folder, shown, build(replace(folder.config, world=folder.world), shown))


def allow_named(path: Path) -> None:
    """Trust the import paths that a run folder names."""
    data = layout.read_config(path)
    world = data.get("world")
    allow(str(data.get("method")), str(world.get("env") if isinstance(world, dict) else ""))


def _longer(folder: RunFolder, steps: int) -> RunFolder:
    """The run with more steps, if it then is what it would have been with so many from the beginning."""
    config = folder.config
    budget, longer = config.budget, replace(config.budget, steps=steps)
    longer.check()
    if steps < budget.steps:
        raise UserError(f"{folder.path} was begun with {budget.steps:,} steps; --steps can only be more, not {steps:,}")
    learner: Any = getattr(config.options, "ppo", None)
    falls = learner is not None and (learner.anneal or learner.log_std_end is not None)
    if falls and longer.iterations > math.ceil(learner.anneal_steps / budget.steps_per_iteration):
        raise UserError(
            f"{folder.path}: its learning rate or noise falls over {learner.anneal_steps:,.0f} steps, so --steps can "
            f"be at most that; a run of {steps:,} steps is another run from its beginning"
        )
    if not folder.has_checkpoint:
        raise UserError(f"{folder.path} has no checkpoint to go on from")
    return folder.extend(steps)


def check(config: Config, demo: Any = None) -> Any:
    """Refuse what can't work; what the method may see of the expert."""
    shown = show(config, demo)
    build(config, shown)
    return shown


def build(config: Config, shown: Any) -> Method:
    """The method of a run. Refuses what does not fit together: robot, recording, options."""
    problem = measure(config)
    method = config.options.build(problem, shown)
    bounded = np.isfinite(problem.action_low).all() and np.isfinite(problem.action_high).all()
    if method.policy.squash and not bounded:
        raise UserError(
            f"{config.world.env} has no finite action bounds to squash actions into; use --policy.no-squash"
        )
    if isinstance(shown, Demos) and shown.action is not None and method.policy.squash:
        _say_if_clipped(shown.action, problem)
    return method


def measure(config: Config) -> Problem:
    """The sizes that a method is built for, read off one environment."""
    budget = config.budget
    pool = pool_for(config.world, 1, 0, threads=1)
    pool.close()
    if config.options.needs == "nothing" and not pool.has_reward:
        raise UserError(f"{config.world.env} has no reward for {config.method} to learn from; imitate: i2l, gail-s ...")
    steps = budget.steps_per_iteration + budget.num_envs * pool.max_episode_steps
    episodes = getattr(getattr(config.options, "elite", None), "capacity", 0)
    needed = 4 * (2 * pool.obs_size + pool.action_size) * (2 * steps + episodes * pool.max_episode_steps)
    if needed > MEMORY:
        raise UserError(
            f"these settings need about {needed / 2**30:,.0f} GB of memory for rollouts and episodes; lower "
            "--steps-per-iteration, --num-envs, --max-episode-steps or --elite.capacity"
        )
    sizes = (pool.obs_size, pool.action_size, budget.num_envs, pool.max_episode_steps, budget.iterations)
    return Problem(*sizes, pool.action_low, pool.action_high)


def show(config: Config, demo: Any = None) -> Any:
    """What the method may see of the expert, read and checked: a part of its recording, or its policy, or nothing."""
    options = config.options
    if options.needs == "nothing":
        return None
    if options.needs == "policy":
        return policy_file.load_expert(_named(options.expert, shipped.robot_of(config.world.env), config, "--expert"))
    source = demo if demo is not None else _named(options.demo, _own_recording(config), config, "--demo")
    recorded = simulated.load(source, config.world.env, config.world.env_kwargs)
    recorded = recorded.take(options.demo_episodes, options.demo_stride)
    if options.needs == "actions":
        if recorded.action is None:
            raise UserError(
                f"{config.method} needs a demonstration with actions; without them: i2l, gail-s, gaifo, bco"
            )
        return recorded
    if options.needs == "state pairs" and options.demo_stride > 1:
        raise UserError(f"{config.method} learns from successive states, so --demo-stride must be 1")
    return recorded.states_only()


def _named(given: str | None, own: str | None, config: Config, flag: str) -> str:
    """The expert that an option names, or the robot's own."""
    if given is not None and not given.strip():
        raise UserError(f"{flag} is empty; name a file or one of {', '.join(shipped.ROBOTS)}")
    if given is None and own is None:
        raise UserError(f"nothing is shipped for {config.world.env}; give {flag} FILE")
    return given or own or ""


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
