"""A robot from its own file, as a Gymnasium environment and as a task for many at once. It has no reward.

What it observes, how long a control step is and where it starts are read off the model and the settings beside it.
"""

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box

from onlooker.envs.engine import mujoco
from onlooker.envs.robot_file import compile_robot
from onlooker.envs.robot_settings import Fallen, Settings, read_settings
from onlooker.envs.tasks import Numbers, Row, Start, Task, Watched, forward
from onlooker.envs.trees import actuated_roots
from onlooker.errors import UserError, nearest

SHORTEST, LONGEST = 0.02, 0.05  # seconds of a control step, unless the settings say otherwise
HOME = "home"  # the keyframe from which it starts, if there is one


class RobotEnv(MujocoEnv):
    """One robot from `my_robot.xml`, with the settings in `my_robot.toml`. The reward is always 0."""

    metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"]}  # noqa: RUF012

    def __init__(self, path: str, **drawing: Any) -> None:
        self._path = Path(path)
        self.settings = read_settings(self._path)
        self._compiled = compile_robot(self._path)
        frame_skip = self.settings.frame_skip or usual_frame_skip(self._path, self._compiled)
        super().__init__(str(self._path.absolute()), frame_skip, None, **drawing)
        key = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_KEY, HOME)
        if key >= 0:
            self.init_qpos, self.init_qvel = self.model.key_qpos[key].copy(), self.model.key_qvel[key].copy()
        self.metadata = self.metadata | {"render_fps": max(1, round(1 / self.dt))}
        size = self.task.observe(self._row()).shape[1]
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.__dict__.pop("task")  # the model may be edited before the first episode

    def _initialize_simulation(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        return self._compiled, mujoco.MjData(self._compiled)

    @functools.cached_property
    def task(self) -> Task:
        """What is computed around the physics."""
        return robot_task(self)

    def _row(self) -> np.ndarray:
        return np.concatenate(self.task.row.arrays(self.data))[None]

    def reset_model(self) -> np.ndarray:
        """A random start near the model's own."""
        if self.task.key >= 0:
            mujoco.mj_resetDataKeyframe(self.model, self.data, self.task.key)
        self.set_state(*self.task.start(self.np_random))
        return self.task.observe(self._row())[0].copy()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:  # type: ignore[override]
        """One control step."""
        before = self._row()
        self.do_simulation(action, self.frame_skip)
        after = self._row()
        _, fell = self.task.judge(before, after, np.asarray(action)[None])
        told = {} if self.task.speed is None else {"forward_speed": float(self.task.speed(before, after)[0])}
        return self.task.observe(after)[0].copy(), 0.0, bool(fell[0]), False, told


def usual_frame_skip(path: Path, model: mujoco.MjModel) -> int:
    """So many physics steps that a control step takes 0.02 s, or a little more."""
    timestep = model.opt.timestep
    if timestep > LONGEST:
        raise UserError(f"a physics step of {path} takes {timestep:g} s; set <option timestep> to {LONGEST} or less")
    return max(1, math.ceil(SHORTEST / timestep - 1e-9))


def robot_task(env: RobotEnv) -> Task:
    """The task of a robot from its file."""
    model, settings = env.model, env.settings
    root = actuated_roots(model)[0]
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, HOME)
    watched: list[Watched] = ["qpos", "qvel"]
    watched += [name for name in settings.observe if name not in ("place", "qpos", "qvel")]
    followed = None if settings.follow is None else ("xpos", _body(env._path, model, settings.follow))
    if settings.fallen != Fallen():
        watched += [("xpos", root), ("xmat", root)]
    if followed is not None and followed not in watched:
        watched.append(followed)
    row = Row(model, *watched)
    return Task(
        model,
        env.frame_skip,
        row,
        _near_home(env),
        _sight(model, row, settings, _place(model, root)),
        lambda before, after, action, stands: np.zeros(len(after)),
        None if settings.fallen == Fallen() else _upright(model, row, root, key, settings.fallen),
        feels_forces="cfrc_ext" in settings.observe,
        key=key,
        has_reward=False,
        speed=None if followed is None else forward(1.0, env.dt, row[followed].start),
    )


def _place(model: mujoco.MjModel, root: int) -> list[int]:
    """Which numbers of qpos tell where in the plane the robot is.

    Those are x and y of a free root, or the root's slide joints along the floor. Not a slide that a motor drives or
    that has an end: a cart on its rail must know where it is.
    """
    driven = model.actuator_trnid[model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT), 0]
    place: list[int] = []
    first = model.body_jntadr[root]
    for joint in range(first, first + model.body_jntnum[root]):
        at = int(model.jnt_qposadr[joint])
        if model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE):
            place += [at, at + 1]
        elif model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE):
            axis = np.zeros(3)
            mujoco.mju_rotVecQuat(axis, model.jnt_axis[joint], model.body_quat[root])
            if abs(axis[2]) < 0.01 and joint not in driven and not model.jnt_limited[joint]:
                place.append(at)
    return place


def _sight(model: mujoco.MjModel, row: Row, settings: Settings, place: list[int]) -> Numbers:
    everything = np.arange(row.size)
    columns = {name: everything[row[name]] for name in settings.observe if name != "place"}
    columns |= {"place": np.array(place, int), "qpos": np.setdiff1d(everything[row["qpos"]], place)}
    if "cfrc_ext" in columns:
        columns["cfrc_ext"] = columns["cfrc_ext"][6:]  # but the world's
    chosen = np.concatenate([columns[name] for name in settings.observe])
    if chosen.size == 0:
        raise UserError(
            f"there is nothing to see of the robot: observe = {list(settings.observe)} is empty in its model"
        )
    if np.array_equal(chosen, np.arange(chosen[0], chosen[0] + chosen.size)):
        return lambda rows: rows[:, chosen[0] : chosen[0] + chosen.size]  # a view: no copy
    return lambda rows: rows[:, chosen]


def _near_home(env: RobotEnv) -> Start:
    model, noise = env.model, env.settings.noise

    def start(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        qpos = env.init_qpos.copy()
        mujoco.mj_integratePos(model, qpos, rng.uniform(-noise, noise, model.nv), 1.0)  # a turn stays a turn
        return qpos, env.init_qvel + rng.uniform(-noise, noise, model.nv)

    return start


def _upright(model: mujoco.MjModel, row: Row, root: int, key: int, fallen: Fallen) -> Numbers:
    data = mujoco.MjData(model)
    if key >= 0:
        mujoco.mj_resetDataKeyframe(model, data, key)
    mujoco.mj_kinematics(model, data)
    up = data.xmat[root].reshape(3, 3)[2].copy()  # the sky at the start, as the body sees it
    height, sky = row["xpos", root].start + 2, slice(row["xmat", root].start + 6, row["xmat", root].stop)
    motion = slice(0, model.nq + model.nv)

    def stands(rows: np.ndarray) -> np.ndarray:
        tilt = np.degrees(np.arccos(np.clip(rows[:, sky] @ up, -1, 1)))
        within = (fallen.height[0] <= rows[:, height]) & (rows[:, height] <= fallen.height[1])
        within &= (fallen.tilt[0] <= tilt) & (tilt <= fallen.tilt[1])
        return within & np.isfinite(rows[:, motion]).all(axis=1)

    return stands


def _body(path: Path, model: mujoco.MjModel, name: str) -> int:
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    if body < 0:
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) for i in range(1, model.nbody)]
        raise UserError(
            f"{path.with_suffix('.toml')}: follow: there is no body {name!r}{nearest(name, filter(None, names))}"
        )
    return body
