"""Longer and shorter limbs, in a compiled model.

A body is stretched along its longest geom, away from its own joint; thickness stays. What hangs on it moves along as it
is. Mass follows as in a rod of the same stuff: the mass by the factor, the inertia as the stretched mass has it.
"""

import numpy as np

from onlooker.envs.engine import mujoco
from onlooker.envs.trees import actuated_roots
from onlooker.errors import UserError

GEOM = mujoco.mjtGeom
ROUND = (int(GEOM.mjGEOM_CAPSULE), int(GEOM.mjGEOM_CYLINDER))
SIDED = (int(GEOM.mjGEOM_BOX), int(GEOM.mjGEOM_ELLIPSOID))
SPHERE = int(GEOM.mjGEOM_SPHERE)


def stretch(model: mujoco.MjModel, body: int, factor: float, name: str, required: bool) -> bool:
    """Change a body's length; whether it has one. `required`: without one, say so."""
    geoms = np.flatnonzero(model.geom_bodyid == body).tolist()
    if any(int(model.geom_type[geom]) not in (*ROUND, *SIDED, SPHERE) for geom in geoms):
        raise UserError(
            f"length: {name!r} has a mesh, and only capsules, cylinders, boxes, ellipsoids, spheres can grow"
        )
    along = _limb(model, geoms)
    if along is None:
        if required:
            raise UserError(f"length: {name!r} is as long as it is wide: it has no direction to grow in")
        return False
    matrix = np.eye(3) + (factor - 1) * np.outer(along, along)
    anchor = _anchor(model, body)

    def moved(place: np.ndarray) -> np.ndarray:
        return anchor + matrix @ (place - anchor)

    for child in np.flatnonzero(model.body_parentid == body).tolist():
        if child != body:
            held = model.body_pos[child] + _turned(model.body_quat[child], _first_joint(model, child))
            model.body_pos[child] += moved(held) - held
    for site in np.flatnonzero(model.site_bodyid == body):
        model.site_pos[site] = moved(model.site_pos[site])
    for geom in geoms:
        model.geom_pos[geom] = moved(model.geom_pos[geom])
        _grow(model, geom, matrix)
    model.body_ipos[body] = moved(model.body_ipos[body])
    _weigh(model, body, matrix, factor)
    _widen_boxes(model, body, geoms)
    return True


def lift(model: mujoco.MjModel, qpos: np.ndarray, lowest: float) -> None:
    """Move a first state up or down, in place, so that the robot's lowest point is where it was."""
    at = _vertical(model)
    if at is not None:
        index, sign = at
        qpos[index] += sign * (lowest - lowest_point(model, qpos))


def lowest_point(model: mujoco.MjModel, qpos: np.ndarray) -> float:
    """How high the lowest point of the robot is in a state."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    roots = actuated_roots(model)
    lows = [0.0]
    for geom in np.flatnonzero(np.isin(model.body_rootid[model.geom_bodyid], roots)):
        kind, size, down = int(model.geom_type[geom]), model.geom_size[geom], np.abs(data.geom_xmat[geom][6:])
        if kind == int(GEOM.mjGEOM_CAPSULE):
            reach = size[1] * down[2] + size[0]
        elif kind == int(GEOM.mjGEOM_CYLINDER):
            reach = size[1] * down[2] + size[0] * np.hypot(down[0], down[1])
        elif kind == int(GEOM.mjGEOM_BOX):
            reach = size @ down
        elif kind == int(GEOM.mjGEOM_ELLIPSOID):
            reach = np.linalg.norm(size * down)
        else:
            reach = model.geom_rbound[geom]
        lows.append(data.geom_xpos[geom][2] - reach)
    return float(min(lows[1:] or lows))


def _vertical(model: mujoco.MjModel) -> tuple[int, float] | None:
    """Which number of qpos is the root's height, and whether it counts upwards."""
    for root in actuated_roots(model)[:1]:
        first = model.body_jntadr[root]
        for joint in range(first, first + model.body_jntnum[root]):
            at = int(model.jnt_qposadr[joint])
            if model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE):
                return at + 2, 1.0
            axis = _turned(model.body_quat[root], model.jnt_axis[joint])
            if model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE) and abs(axis[2]) > 0.99:
                return at, float(np.sign(axis[2]))
    return None


def _limb(model: mujoco.MjModel, geoms: list[int]) -> np.ndarray | None:
    """The direction, in the body's frame, of its longest geom; None if all are as long as wide."""
    longest, along = 0.0, None
    for geom in geoms:
        size, kind = model.geom_size[geom], int(model.geom_type[geom])
        axis = 2 if kind in ROUND else int(np.argmax(size))
        half = size[1] if kind in ROUND else size[axis]
        slim = kind in ROUND or (kind in SIDED and half > 1.01 * np.sort(size)[1])
        if slim and half > longest:
            longest, along = half, _turned(model.geom_quat[geom], np.eye(3)[axis])
    return along


def _anchor(model: mujoco.MjModel, body: int) -> np.ndarray:
    """The point of a body that stays: its first turning joint, or else its origin."""
    first = model.body_jntadr[body]
    turning = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_BALL))
    for joint in range(first, first + model.body_jntnum[body]):
        if int(model.jnt_type[joint]) in turning:
            return model.jnt_pos[joint].copy()
    return np.zeros(3)


def _first_joint(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Where a body hangs on its parent, in its own frame."""
    return model.jnt_pos[model.body_jntadr[body]] if model.body_jntnum[body] else np.zeros(3)


def _turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    turned = np.zeros(3)
    mujoco.mju_rotVecQuat(turned, np.asarray(vector, float), quat)
    return turned


def _matrix(quat: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quat)
    return flat.reshape(3, 3)


def _grow(model: mujoco.MjModel, geom: int, matrix: np.ndarray) -> None:
    """Stretch a geom around its own centre, its box and its radius with it."""
    size, kind = model.geom_size[geom], int(model.geom_type[geom])
    if kind in ROUND:
        half = matrix @ _turned(model.geom_quat[geom], np.array([0.0, 0.0, size[1]]))
        before = _turned(model.geom_quat[geom], np.array([0.0, 0.0, 1.0]))
        if np.linalg.norm(np.cross(before, half)) > 1e-9 * np.linalg.norm(half):  # not along the limb: it turns, too
            mujoco.mju_quatZ2Vec(model.geom_quat[geom], half)
        size[1] = np.linalg.norm(half)
    elif kind in SIDED:
        size[:] = np.linalg.norm(matrix @ (_matrix(model.geom_quat[geom]) * size), axis=0)
    r, h = size[0], size[1]
    boxes = {SPHERE: (r, r, r), ROUND[0]: (r, r, h + r), ROUND[1]: (r, r, h)}
    model.geom_aabb[geom] = np.concatenate([np.zeros(3), boxes.get(kind, size)])
    bounds = {
        SPHERE: r,
        ROUND[0]: h + r,
        ROUND[1]: np.hypot(r, h),
        SIDED[0]: np.linalg.norm(size),
        SIDED[1]: size.max(),
    }
    model.geom_rbound[geom] = bounds[kind]


def _weigh(model: mujoco.MjModel, body: int, matrix: np.ndarray, factor: float) -> None:
    """Mass and inertia of the stretched mass. `second` is the integral of x x^T over it."""
    frame = _matrix(model.body_iquat[body])
    inertia = frame @ np.diag(model.body_inertia[body]) @ frame.T
    second = factor * matrix @ (np.trace(inertia) / 2 * np.eye(3) - inertia) @ matrix
    inertia = frame.T @ (np.trace(second) * np.eye(3) - second) @ frame
    model.body_mass[body] *= factor
    skew = np.abs(inertia - np.diag(np.diag(inertia))).max()
    if skew > 1e-9 * np.abs(inertia).max():  # its main axes turn
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.linalg.det(axes)
        mujoco.mju_mat2Quat(model.body_iquat[body], np.ascontiguousarray(frame @ axes).reshape(-1))
        model.body_inertia[body] = moments
    else:
        model.body_inertia[body] = np.diag(inertia)


def _widen_boxes(model: mujoco.MjModel, body: int, geoms: list[int]) -> None:
    """MuJoCo's boxes around a body's geoms, by which it finds contacts: wide enough for all, wherever they are."""
    begin, count = int(model.body_bvhadr[body]), int(model.body_bvhnum[body])
    if count and len(geoms):
        far = np.linalg.norm(model.geom_pos[geoms] - model.body_ipos[body], axis=1) + model.geom_rbound[geoms]
        reach = float(far.max() + model.geom_margin[geoms].max())
        model.bvh_aabb[begin : begin + count] = [0, 0, 0, reach, reach, reach]
