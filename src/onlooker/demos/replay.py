"""A recording on its robot: poses, joints that leave their range, how deep it sinks into the floor, and a film."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from onlooker.demos.body import Body
from onlooker.demos.dataset import Demos
from onlooker.demos.simulated import body_of
from onlooker.envs.engine import mujoco
from onlooker.envs.make import EnvSource, make_env
from onlooker.envs.render import MAX_FPS, filming
from onlooker.errors import UserError

MOST = 1000  # states that are replayed: more is a long film, and tells no more
DEEP = 0.01  # metres that a foot may sink in: contacts are soft


def poses(demo: Demos, body: Body, start: np.ndarray) -> np.ndarray:
    """Positions [T, nq] of the first episode, as far as they are recorded; the others stay as at the `start` [nq].

    A place that an observation leaves out is where its velocity leads.
    """
    entries = demo.match_dims() or tuple(range(body.obs_size))
    obs = demo.obs[slice(*demo.episodes()[0])][:MOST].astype(np.float64)
    column = {body.shown[entry]: obs[:, place] for place, entry in enumerate(entries) if body.shown[entry] >= 0}
    found = np.tile(start, (len(obs), 1))
    count = len(body.places)
    for joint in body.joints:
        for axis in range(len(joint.places)):
            place, speed = joint.place + axis, count + joint.dof + axis
            straight = joint.kind in ("slide", "hinge") or (joint.kind == "free" and axis < 3)
            if place in column:
                found[:, place] = column[place]
            elif straight and speed in column:
                found[1:, place] += np.cumsum(column[speed][:-1]) * body.dt
        if joint.kind in ("free", "ball"):
            turn = slice(joint.place + len(joint.places) - 4, joint.place + len(joint.places))
            found[:, turn] /= np.maximum(np.linalg.norm(found[:, turn], axis=1, keepdims=True), 1e-9)
    return found


def unknown(demo: Demos, body: Body) -> list[str]:
    """Names of the joints whose position is not recorded, though an observation shows it."""
    entries = demo.match_dims() or tuple(range(body.obs_size))
    recorded = {body.shown[entry] for entry in entries}
    shown = set(body.shown)
    return [name for place, name in enumerate(body.places) if place in shown - recorded]


def strayed(qpos: np.ndarray, body: Body, but: Collection[str] = ()) -> list[str]:
    """A line for each joint that leaves its range, with where it is farthest out; `but` for some."""
    found = []
    for joint in body.joints:
        if joint.kind in ("slide", "hinge") and joint.name not in but:
            values = qpos[:, joint.place]
            beyond = np.maximum(values - joint.high, joint.low - values)
            row, unit = int(beyond.argmax()), "m" if joint.kind == "slide" else "rad"
            if beyond[row] > 0:
                span = f"{joint.low:.3g} to {joint.high:.3g}"
                share = f"in {(beyond > 0).mean():.0%} of the states"
                found.append(f"{joint.name} leaves its range {span} by {beyond[row]:.3g} {unit} at row {row}, {share}")
    return found


def sunk(qpos: np.ndarray, model: mujoco.MjModel) -> tuple[float, str, int]:
    """(how deep in metres, which geom, at which row): the deepest that a geom sinks into what stands still."""
    data, deepest = mujoco.MjData(model), (0.0, "", 0)
    for row, pose in enumerate(qpos):
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        for contact in data.contact:
            # Of the two, the geom whose body moves; the other one belongs to the world.
            moving = [geom for geom in contact.geom if model.body_weldid[model.geom_bodyid[geom]] != 0]
            if len(moving) == 1 and -contact.dist > deepest[0]:
                geom = model.geom(int(moving[0]))
                name = geom.name or f"a geom of {model.body(int(geom.bodyid[0])).name or int(geom.bodyid[0])}"
                deepest = (-float(contact.dist), name, row)
    return deepest


def remarks(demo: Demos, source: EnvSource, kwargs: dict[str, Any] | None = None) -> list[str]:
    """What the replay shows, in lines."""
    body = _whole(source, kwargs)
    env = make_env(source, kwargs, max_episode_steps=MOST)
    try:
        base: Any = env.unwrapped
        qpos = poses(demo, body, base.init_qpos)
        depth, geom, row = sunk(qpos, base.model)
    finally:
        env.close()
    missing = unknown(demo, body)
    lines = strayed(qpos, body, missing) or ["no joint leaves its range"]
    if missing:
        lines.append(f"not recorded, so replayed as at the start: {', '.join(missing)}")
    sinks = f"{geom} sinks {depth:.3g} m into the floor at row {row}"
    return [*lines, sinks if depth > DEEP else f"nothing sinks more than {DEEP:g} m into the floor"]


def film(demo: Demos, source: EnvSource, kwargs: dict[str, Any] | None = None) -> tuple[list[np.ndarray], float]:
    """Pictures [H, W, 3] of the first episode, in the poses that are recorded, and how many to show a second."""
    body = _whole(source, kwargs)
    every = math.ceil(1 / (body.dt * MAX_FPS) - 1e-9)
    with filming(source, kwargs, max_episode_steps=MOST) as env:
        base: Any = env.unwrapped
        frames = []
        for pose in poses(demo, body, base.init_qpos)[::every]:
            base.set_state(pose, np.zeros(base.model.nv))
            frames.append(np.array(env.render(), np.uint8))
    return frames, 1 / (body.dt * every)


def _whole(source: EnvSource, kwargs: dict[str, Any] | None) -> Body:
    """The robot, if an observation tells its pose."""
    body = body_of(source, kwargs)
    if not any(0 <= number < len(body.places) for number in body.shown):
        raise UserError(f"an observation of {body.name} does not tell where its joints are, so it can't be replayed")
    return body
