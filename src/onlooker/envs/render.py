"""Pictures of robots, off screen, through Gymnasium."""

import itertools
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker.demos import Demos
from onlooker.envs.engine import mujoco
from onlooker.envs.make import EnvSource, make_env
from onlooker.envs.robots import TASKS
from onlooker.envs.world import Dynamics
from onlooker.errors import UserError
from onlooker.failures import first_line, told

SIZE = (480, 360)  # width, height of a picture
MAX_FPS = 50  # Hopper makes 125 steps a second: no screen needs them all
SKY = (205, 216, 226)
LIGHT = np.array([0.5, 1.0, -3.0])  # where it shines
INSTALL = "try MUJOCO_GL=egl, on Debian or Ubuntu after: apt-get install libegl1 libgl1-mesa-dri"

Act = Callable[[np.ndarray], np.ndarray]
"""Observations [1, D] -> actions [1, A]."""


@contextmanager
def filming(
    source: EnvSource,
    kwargs: Mapping[str, Any] | None = None,
    dynamics: Dynamics | None = None,
    max_episode_steps: int | None = None,
    size: tuple[int, int] = SIZE,
) -> Iterator[gym.Env]:
    """One environment whose `render()` gives pictures [H, W, 3]; at the end it is closed with all that drew them."""
    _choose_opengl()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium's, of a missing render mode: it comes out below, as an error
        env = make_env(source, kwargs, dynamics, max_episode_steps, render_mode="rgb_array")
    chosen = set(kwargs or {})
    env = _Filmed(env, None if chosen & {"width", "height"} else size, follow=not any("camera" in k for k in chosen))
    try:
        _try_picture(env)
        yield env
    finally:
        env.close()


def film(
    env: gym.Env, act: Act, seed: int, max_steps: int | None = None, every: int = 1
) -> tuple[list[np.ndarray], float]:
    """One episode from a seed: pictures [H, W, 3] of its start, every so many steps and its end; and its return."""
    shape, kind, total = env.action_space.shape or (), env.action_space.dtype, 0.0
    try:
        obs, _ = env.reset(seed=seed)
        frames = [np.array(env.render(), np.uint8)]
        for step in itertools.count(1):
            action = act(np.asarray(obs, float).reshape(1, -1)).reshape(shape).astype(kind)
            obs, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated or step == max_steps
            if over or step % every == 0:
                frames.append(np.array(env.render(), np.uint8))
            if over:
                break
    except Exception as failure:
        raise UserError(f"the environment failed: {told(failure)}") from failure
    return frames, total


def pace(env: gym.Env) -> tuple[int, float]:
    """(every, fps): film a picture every so many steps and show so many a second, and time runs as in the world."""
    steps_a_second = float(env.metadata.get("render_fps") or 30)
    every = math.ceil(steps_a_second / MAX_FPS)
    return every, steps_a_second / every


def replay_states(demo: Demos, count: int = 8) -> list[np.ndarray]:
    """Evenly spaced states of a recording's first episode as pictures [H, W, 3], for the robots that we know."""
    name = demo.meta.get("env")
    if not isinstance(name, str) or name not in gym.registry:  # a file from anywhere must not name code to import
        raise UserError("the recording names no environment that could show it")
    with filming(name) as env:
        base: Any = env.unwrapped
        hidden = TASKS[type(base)](base).hidden if type(base) in TASKS else None
        if hidden is None:
            raise UserError(f"the recorded states do not tell where {name} is")
        shown, needed = base.model.nq - hidden, base.model.nq - hidden + base.model.nv
        if demo.obs.shape[1] not in (needed, *base.observation_space.shape):
            raise UserError(f"the recorded states do not tell where {name} is")
        obs = demo.obs[slice(*demo.episodes()[0])].astype(float)
        place = np.cumsum(obs[:, shown : shown + hidden], axis=0) * base.dt  # not recorded, but its speed is
        frames = []
        for row in np.linspace(0, len(obs) - 1, min(count, len(obs))).round().astype(int):
            base.set_state(np.concatenate([place[row], obs[row, :shown]]), obs[row, shown:needed])
            frames.append(np.array(env.render(), np.uint8))
    return frames


class _Filmed(gym.Wrapper):
    """Makes a MuJoCo environment draw fast, and with a camera that goes along with the robot. Looks only change."""

    def __init__(self, env: gym.Env, size: tuple[int, int] | None, follow: bool) -> None:
        super().__init__(env)
        self._renderer: Any = getattr(env.unwrapped, "mujoco_renderer", None)
        self._size, self._follow = size, follow and self._renderer is not None

    def render(self) -> Any:
        """A picture [H, W, 3]."""
        renderer = self._renderer
        if renderer is not None and renderer.viewer is None:
            self._set_up()
        elif renderer is not None:
            renderer.viewer.make_context_current()  # another environment may have drawn since
        if self._follow:
            centre = renderer.data.subtree_com[1]
            renderer.data.light_xpos[:] = centre - LIGHT  # or the shadow would stay behind
            if renderer.viewer is not None:
                renderer.viewer.cam.lookat[:2] = centre[:2]  # not its height, so that a jump is seen as a jump
        return self.env.render()

    def _set_up(self) -> None:
        """Size, camera and looks, just before Gymnasium makes its viewer from them."""
        renderer, model, data = self._renderer, self._renderer.model, self._renderer.data
        if self._size is not None:
            renderer.width, renderer.height = self._size
            buffer = model.vis.global_
            buffer.offwidth, buffer.offheight = np.maximum((buffer.offwidth, buffer.offheight), self._size)
        # A root that slides or floats is a robot that goes somewhere; Gymnasium's camera stays behind.
        roaming = (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE))
        self._follow &= model.njnt > 0 and model.jnt_bodyid[0] == 1 and int(model.jnt_type[0]) in roaming
        if not self._follow:
            return
        # From the side, a little from above, as near as the whole robot and some room around it allow.
        own, centre = model.geom_bodyid > 0, data.subtree_com[1]
        reach = (np.linalg.norm(data.geom_xpos[own] - centre, axis=1) + model.geom_rbound[own]).max()
        distance = 1.35 * reach / math.tan(math.radians(model.vis.global_.fovy) / 2)
        camera = {"lookat": centre.copy(), "distance": distance, "azimuth": 90.0, "elevation": -15.0}
        renderer.camera_id, renderer.default_cam_config = -1, camera  # free, so that it obeys
        _set_looks(model, reach)

    def close(self) -> None:
        """Free what draws before Python does: at exit is too late, and while another viewer draws is wrong."""
        if self._renderer is not None and self._renderer.viewer is not None:
            self._renderer.viewer.make_context_current()
            self._renderer.viewer.con.free()
        super().close()
        if self._renderer is not None:
            self._renderer.viewer = None
            self._renderer._viewers.clear()


def _set_looks(model: mujoco.MjModel, reach: float) -> None:
    """A floor without end, softer than the robot; no mirrors and fine shadows, which would cost most of the time.

    None of this is physics: MuJoCo's planes have no end for contacts anyhow.
    """
    model.mat_reflectance[:] = 0
    model.light_dir[:] = LIGHT / np.linalg.norm(LIGHT)
    model.vis.quality.offsamples, model.vis.quality.shadowsize = 0, 1024
    model.vis.map.shadowclip = 3 * reach / model.stat.extent
    model.vis.map.haze, model.vis.rgba.haze[:3] = 0.6, np.array(SKY) / 255
    model.geom_size[model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE), :2] = 0
    model.mat_texuniform[:], model.mat_texrepeat[:] = True, 1  # a metre
    sizes = model.tex_height * model.tex_width * model.tex_nchannel
    for start, size, channels, kind in zip(model.tex_adr, sizes, model.tex_nchannel, model.tex_type):
        pixels = model.tex_data[start : start + size].reshape(-1, channels)[:, :3]
        if kind == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX):
            pixels[:] = SKY[:channels]
        elif kind == int(mujoco.mjtTexture.mjTEXTURE_2D):
            pixels[:] = 120 + pixels // 4


def _choose_opengl() -> None:
    """Without a screen, draw with EGL. Gymnasium reads this when it makes its first viewer."""
    os.environ.setdefault("EGL_LOG_LEVEL", "fatal")
    if not os.environ.get("MUJOCO_GL"):
        os.environ.pop("MUJOCO_GL", None)  # empty is not a choice, but Gymnasium would take it for one
        if sys.platform == "linux" and not os.environ.get("DISPLAY"):
            os.environ["MUJOCO_GL"] = "egl"


def _try_picture(env: gym.Env) -> None:
    """Draw once, so that a machine or an environment that can't draw says so before any time is spent."""
    env.reset(seed=0)
    problem, picture = "it gives no pictures with render_mode='rgb_array'", None
    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None  # a viewer half made complains as it goes
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW's, of a missing screen
            picture = env.render()
    except Exception as failure:
        problem = first_line(failure) if str(failure) else problem
    finally:
        sys.unraisablehook = hook
    if isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[2] == 3:
        return
    if hasattr(env.unwrapped, "mujoco_renderer"):
        chosen = os.environ.get("MUJOCO_GL", "")
        raise UserError(f"can't draw off-screen with MUJOCO_GL={chosen!r} ({problem}); {INSTALL}")
    raise UserError(f"can't film {type(env.unwrapped).__name__}: {problem}")
