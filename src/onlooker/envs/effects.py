"""Whether a change of a model's numbers would change what happens."""

import numpy as np

from onlooker.envs.engine import mujoco


def gravity_pulls(model: mujoco.MjModel) -> bool:
    """Whether gravity moves anything; what lives in a level plane does not feel it."""
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    gravity, forces = model.opt.gravity.copy(), np.zeros((2, model.nv))
    strongest = 0.0
    for _ in range(3):  # poses
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, rng.standard_normal(model.nv), 0.3)
        for force, pull in zip(forces, (gravity, 0 * gravity)):
            model.opt.gravity[:] = pull
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_rne(model, data, 0, force)
        model.opt.gravity[:] = gravity
        strongest = max(strongest, np.abs(forces[0] - forces[1]).max(initial=0))
    return bool(strongest > 1e-9 * np.linalg.norm(gravity) * model.body_mass.sum())


def contact_frictions(model: mujoco.MjModel) -> np.ndarray:
    """The friction [P, 3] of every two geoms that can touch, 0 where their contact has none of a kind.

    MuJoCo takes that of the geom with the higher priority, or else the larger of the two.
    """
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return np.zeros((0, 3))
    one, two = np.triu_indices(model.ngeom, 1)
    kind, affinity = model.geom_contype, model.geom_conaffinity
    body = model.body_weldid[model.geom_bodyid]  # bodies without a joint between them are one
    above = model.body_weldid[model.body_parentid[body]]
    related = ((above[one] == body[two]) & (body[two] > 0)) | ((above[two] == body[one]) & (body[one] > 0))
    related &= not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    touch = ((kind[one] & affinity[two]) | (kind[two] & affinity[one])) != 0
    touch &= (body[one] != body[two]) & ~related
    one, two = one[touch], two[touch]
    first = model.geom_priority[one] > model.geom_priority[two]
    second = model.geom_priority[one] < model.geom_priority[two]

    def mixed(values: np.ndarray) -> np.ndarray:
        a, b = values[one], values[two]
        shape = (-1,) + (1,) * (a.ndim - 1)
        return np.where(first.reshape(shape), a, np.where(second.reshape(shape), b, np.maximum(a, b)))

    kinds = mixed(model.geom_condim)[:, None] >= np.array([3, 4, 6])  # sliding, turning, rolling
    return mixed(model.geom_friction) * kinds
