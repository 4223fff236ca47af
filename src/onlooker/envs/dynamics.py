"""Named edits of a compiled MuJoCo model: half the gravity, twice the mass, three times the friction.

Edits go to the compiled model and not to the XML: HalfCheetah's XML fixes its total mass, so that doubled
densities there change nothing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from onlooker.envs.effects import contact_frictions, gravity_pulls
from onlooker.envs.engine import mujoco
from onlooker.envs.trees import actuated_roots, name_of
from onlooker.envs.world import Dynamics, Factor
from onlooker.errors import UserError, nearest

AIR = 1.2  # kg/m^3: what a wind blows with where the model ships no medium (with none, wind would do nothing)


def apply(dynamics: Dynamics, model: mujoco.MjModel) -> None:
    """Edit a freshly compiled model in place."""
    bodies = _robot_bodies(model)
    body_names = {name_of(model, mujoco.mjtObj.mjOBJ_BODY, i, "body"): i for i in bodies}
    joint_names = {name_of(model, mujoco.mjtObj.mjOBJ_JOINT, i, "joint"): i for i in range(model.njnt)}

    touched: dict[str, bool] = {}

    def scale(what: str, array: np.ndarray, where: Any, factor: float) -> None:
        touched[what] = touched.get(what, False) or bool(np.any(array[where]))
        array[where] *= factor

    if dynamics.gravity != 1 and not gravity_pulls(model):
        raise UserError("gravity does nothing in this model: it is 0, or nothing can fall")
    model.opt.gravity *= dynamics.gravity
    for body, factor in _by_index("density", dynamics.density, body_names):
        moves = bool(model.body_weldid[body])  # what is fixed to the world has no weight
        touched["density"] = touched.get("density", False) or (moves and bool(model.body_mass[body]))
        model.body_mass[body] *= factor
        model.body_inertia[body] *= factor
    frictions = contact_frictions(model)
    for body, factor in _by_index("friction", dynamics.friction, body_names):
        model.geom_friction[model.geom_bodyid == body] *= factor
        touched["friction"] = True
    if touched.get("friction") and np.array_equal(contact_frictions(model), frictions):
        raise UserError(
            "friction does nothing in this model: its parts touch nothing with friction, or what they touch has more "
            "(MuJoCo takes the larger of the two)"
        )
    for joint, factor in _by_index("damping", dynamics.damping, joint_names):
        scale("damping", model.dof_damping, model.dof_jntid == joint, factor)
        if hasattr(model, "dof_dampingpoly"):  # the velocity-dependent part, from MuJoCo 4 on
            scale("damping", model.dof_dampingpoly, model.dof_jntid == joint, factor)
    for joint, factor in _by_index("armature", dynamics.armature, joint_names):
        scale("armature", model.dof_armature, model.dof_jntid == joint, factor)
    for joint, factor in _by_index("stiffness", dynamics.stiffness, joint_names):
        scale("stiffness", model.jnt_stiffness, joint, factor)
        if hasattr(model, "jnt_stiffnesspoly"):
            scale("stiffness", model.jnt_stiffnesspoly, joint, factor)
    driven = {name: joint for name, joint in joint_names.items() if joint in model.actuator_trnid[:, 0]}
    for joint, factor in _by_index("gear", dynamics.gear, driven):
        scale("gear", model.actuator_gear, model.actuator_trnid[:, 0] == joint, factor)
    for what, changed in touched.items():
        if not changed:
            raise UserError(f"{what} is 0 in this model wherever a factor would change it: it would do nothing")
    if any(dynamics.wind):
        model.opt.wind[:] = dynamics.wind
        if model.opt.density == 0 and model.opt.viscosity == 0:
            model.opt.density = AIR
    if dynamics != Dynamics():
        # Masses, armatures and gears have derived constants (inverse weights, subtree masses): recompute them.
        mujoco.mj_setConst(model, mujoco.MjData(model))


def _by_index(what: str, factor: Factor, names: Mapping[str, int]) -> list[tuple[int, float]]:
    """(index, factor) pairs for the parts to change; a whole-robot factor names them all."""
    if not isinstance(factor, Mapping):
        return [(index, factor) for index in names.values()] if factor != 1 else []
    for name in factor:
        if name not in names:
            raise UserError(f"{what}: the robot has no part {name!r}{nearest(name, names)}")
    return [(names[name], value) for name, value in factor.items()]


def _robot_bodies(model: mujoco.MjModel) -> list[int]:
    """The bodies of every tree that an actuator moves: the robot, not the floor, walls or loose objects."""
    roots = actuated_roots(model)
    return [body for body in range(1, model.nbody) if not roots or model.body_rootid[body] in roots]
