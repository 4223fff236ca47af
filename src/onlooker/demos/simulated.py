"""The robot that a recording is of, in MuJoCo. `onlooker.demos` itself never imports this: it would load MuJoCo."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker import demos
from onlooker.demos import motion, spreadsheets
from onlooker.demos.body import Body, Joint, Kind
from onlooker.demos.dataset import Demos
from onlooker.demos.motion import Reading
from onlooker.demos.plausible import compare
from onlooker.envs.engine import mujoco
from onlooker.envs.make import EnvSource, make_env, make_pool
from onlooker.errors import UserError

KINDS: tuple[Kind, ...] = ("free", "ball", "slide", "hinge")  # in the order of MuJoCo's mjtJoint
MANY, STEPS = 8, 120  # robots and control steps that show where chance leads
LIMIT = 1000  # steps an episode, where the environment says nothing


def load(source: Any, env: EnvSource, kwargs: dict[str, Any] | None = None, quiet: bool = False) -> Demos:
    """As `demos.load`; but a table whose columns are named after joints is one of this environment's robot."""
    if isinstance(source, str | Path) and spreadsheets.names_joints(source):
        try:
            source = by_joints(source, env, kwargs, Reading())
        except UserError as failure:
            told = str(failure)
            more = "; `onlooker demos import` takes --rate, --map, --degrees, --smooth and --fill" * ("--" in told)
            raise UserError(told + more) from None
    return demos.load(source, quiet=quiet)


def by_joints(table: str | Path, env: EnvSource, kwargs: dict[str, Any] | None, how: Reading) -> Demos:
    """A table whose columns are named after the joints of the environment's robot."""
    body = body_of(env, kwargs)
    if not any(body.entries):
        raise UserError(f"an observation of {body.name} is not made of joints, so columns can't be named after them")
    left_out = [column for column, meaning in how.names.items() if meaning == motion.LEFT_OUT]
    try:
        demo = motion.read(*spreadsheets.read_named(table, left_out), body, how)
    except UserError as failure:
        told = str(failure)
        raise UserError(told if told.startswith(str(table)) else f"{table}: {told}") from None
    return replace(demo, meta=demo.meta | {"source": Path(table).name})


def odd(demo: Demos, source: EnvSource, kwargs: dict[str, Any] | None = None, roll: bool = True) -> list[str]:
    """What is odd about a recording of this environment's robot. Without `roll` no step is taken, which is cheap."""
    body = body_of(source, kwargs)
    return compare(demo, body, seen(source, kwargs) if roll else None)


def body_of(source: EnvSource, kwargs: dict[str, Any] | None = None) -> Body:
    """The robot of an environment. What is no MuJoCo robot has no joints."""
    env = make_env(source, kwargs, max_episode_steps=LIMIT)
    try:
        size = int(np.prod(env.observation_space.shape or ()))
        name = source if isinstance(source, str) else getattr(source, "__name__", "the environment")
        base: Any = env.unwrapped
        if not isinstance(getattr(base, "model", None), mujoco.MjModel):
            return Body(name, (), float(getattr(base, "dt", 1.0)), (-1,) * size)
        shown = _shown(env)
        return Body(name, joints_of(base.model), float(base.dt), shown, _fastest(env, shown))
    finally:
        env.close()


def named_env(demo: Demos) -> str | None:
    """The environment that a recording names, if Gymnasium knows it: a file must not name code to import."""
    name = demo.meta.get("env")
    return name if isinstance(name, str) and name in gym.registry else None


def switches(demo: Demos, env: str) -> dict[str, Any]:
    """Of the keywords that a recording of this environment names, those that are true or false: they can't do harm."""
    kwargs = demo.meta.get("env_kwargs") if demo.meta.get("env") == env else None
    return {k: v for k, v in kwargs.items() if isinstance(v, bool)} if isinstance(kwargs, dict) else {}


def joints_of(model: mujoco.MjModel) -> tuple[Joint, ...]:
    """The joints of a model. One without a name is called by its number."""
    found = []
    for index in range(model.njnt):
        joint = model.joint(index)
        low, high = joint.range if model.jnt_limited[index] else (-np.inf, np.inf)
        places = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
        name = joint.name or f"joint_{index}"
        found.append(Joint(name, KINDS[int(model.jnt_type[index])], *places, float(low), float(high)))
    return tuple(found)


def _shown(env: gym.Env) -> tuple[int, ...]:
    """For each entry of an observation, which number of positions and velocities it is; -1 for anything else.

    Found by looking: the robot is shaken a little, and its observations laid beside its states.
    """
    base: Any = env.unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    looks, states = [], []
    for _ in range(4):
        action = 0.05 * env.action_space.sample()  # gently: some observations cut high velocities off
        looks.append(np.ravel(env.step(action.astype(env.action_space.dtype))[0]))
        states.append(np.concatenate([base.data.qpos, base.data.qvel]))
    obs, state = np.array(looks), np.array(states)
    alike = np.isclose(obs[:, :, None], state[:, None, :], rtol=1e-6, atol=1e-9).all(axis=0)
    alike &= (np.ptp(obs, axis=0) > 0)[:, None]  # what stands still could be anything
    found: list[int] = []
    for fits in alike:
        left = [int(number) for number in np.flatnonzero(fits) if number not in found]
        following = found[-1] + 1 if found else 0  # of two that move alike, the one that is due
        found.append(following if following in left else left[0] if left else -1)
    return tuple(found)


def _fastest(env: gym.Env, shown: tuple[int, ...]) -> float:
    """At what an observation cuts velocities off, found by going faster than any robot."""
    base: Any = env.unwrapped
    speeds = [entry for entry, number in enumerate(shown) if number >= base.model.nq]
    try:
        base.set_state(base.init_qpos, np.full(base.model.nv, 1e3))
        most = np.ravel(base._get_obs())[speeds].max()
    except Exception:  # an environment of another make, or one that shows no velocity
        return float("inf")
    return float(most) if most < 1e3 else float("inf")


def seen(source: EnvSource, kwargs: dict[str, Any] | None = None) -> np.ndarray:
    """States [N, D] that the robot gets into by random actions, and by none. The same ones each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an environment's own complaints are not about the recording
        pool = make_pool(source, MANY, 0, kwargs, max_episode_steps=LIMIT)
        pool.reset()
        rng, states = np.random.default_rng(0), []
        low, high = np.clip(pool.action_low, -1e3, 1e3), np.clip(pool.action_high, -1e3, 1e3)
        for _ in range(STEPS):
            action = rng.uniform(low, high, (MANY, *low.shape)).reshape(MANY, -1)
            action[: MANY // 4] = 0  # some stay still
            states += [pool.obs.reshape(MANY, -1).copy(), pool.step(action).next_obs.reshape(MANY, -1).copy()]
        pool.close()
    found = np.concatenate(states)
    return found[np.isfinite(found).all(axis=1)]
