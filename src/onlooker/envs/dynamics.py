"""Named edits of a compiled MuJoCo model: half the gravity, twice the mass, three times the friction.

Edits go to the compiled model and not to the XML: HalfCheetah's XML fixes its total mass, so that doubled
densities there change nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from onlooker.envs.effects import contact_frictions, gravity_pulls
from onlooker.envs.engine import mujoco
from onlooker.envs.length import stretch
from onlooker.envs.trees import actuated_roots, name_of
from onlooker.envs.world import SOLVERS, Dynamics, Factor
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

    if dynamics.slope:
        _tilt(model, dynamics.slope)
    if dynamics.gravity != 1 and not gravity_pulls(model):
        raise UserError("gravity does nothing in this model: it is 0, or nothing can fall")
    model.opt.gravity *= dynamics.gravity
    model.opt.timestep *= dynamics.timestep
    if dynamics.solver:
        _compute_by(model, dynamics.solver.split(","))
    by_name = isinstance(dynamics.length, Mapping)
    stretched = [
        stretch(model, body, factor, name_of(model, mujoco.mjtObj.mjOBJ_BODY, body, "body"), required=by_name)
        for body, factor in _by_index("length", dynamics.length, body_names)
    ]
    if stretched and not any(stretched):
        raise UserError("length does nothing in this model: all its parts are as long as they are wide")
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
    motors = _motors(model, joint_names)
    if not isinstance(dynamics.gear, Mapping) and dynamics.gear != 1:
        scale("gear", model.actuator_gear, slice(None), dynamics.gear)
    for name, factor in _by_key("gear", dynamics.gear, motors):
        scale("gear", model.actuator_gear, motors[name], factor)
    for what, changed in touched.items():
        if not changed:
            raise UserError(f"{what} is 0 in this model wherever a factor would change it: it would do nothing")
    if any(dynamics.wind):
        model.opt.wind[:] = dynamics.wind
        if model.opt.density == 0 and model.opt.viscosity == 0:
            model.opt.density = AIR
    if dynamics.of_model != Dynamics():
        # Masses, armatures and gears have derived constants (inverse weights, subtree masses): recompute them.
        mujoco.mj_setConst(model, mujoco.MjData(model))


def _tilt(model: mujoco.MjModel, degrees: float) -> None:
    """Turn gravity so that the way along x leads uphill."""
    turn = np.zeros(4)
    mujoco.mju_axisAngle2Quat(turn, np.array([0.0, 1.0, 0.0]), np.radians(degrees))
    tilted = np.zeros(3)
    mujoco.mju_rotVecQuat(tilted, model.opt.gravity, turn)
    model.opt.gravity[:] = tilted
    if not gravity_pulls(model):
        raise UserError("slope does nothing in this model: there is no gravity, or nothing can fall")


def _compute_by(model: mujoco.MjModel, words: list[str]) -> None:
    """Set integrator, cone and solver by MuJoCo's own words."""
    kinds = {"integrator": mujoco.mjtIntegrator, "cone": mujoco.mjtCone, "solver": mujoco.mjtSolver}
    for word in words:
        kind = next(kind for kind, names in SOLVERS.items() if word in names)
        choice = next(value for name, value in kinds[kind].__members__.items() if name.endswith(f"_{word.upper()}"))
        if int(choice) == getattr(model.opt, kind):
            raise UserError(f"solver: {word} does nothing in this model: it is what it has")
        setattr(model.opt, kind, int(choice))


def _motors(model: mujoco.MjModel, joints: Mapping[str, int]) -> dict[str, list[int]]:
    """Actuators by the joint that they drive, or by their own name where that is no joint's."""
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    found: dict[str, list[int]] = {}
    for index, (kind, target) in enumerate(zip(model.actuator_trntype, model.actuator_trnid[:, 0])):
        if int(kind) in kinds:
            joint = next(name for name, number in joints.items() if number == target)
            found.setdefault(joint, []).append(index)
    for index in range(model.nu):
        name = name_of(model, mujoco.mjtObj.mjOBJ_ACTUATOR, index, "actuator")
        if name not in joints:
            found.setdefault(name, [index])
    return found


def _by_key(what: str, factor: Factor, names: Iterable[str]) -> list[tuple[str, float]]:
    """(name, factor) pairs for the parts to change."""
    names = list(names)
    for name in factor if isinstance(factor, Mapping) else ():
        if name not in names:
            raise UserError(f"{what}: the robot has no part {name!r}{nearest(name, names)}")
    return list(factor.items()) if isinstance(factor, Mapping) else []


def _by_index(what: str, factor: Factor, names: Mapping[str, int]) -> list[tuple[int, float]]:
    """(index, factor) pairs for the parts to change; a whole-robot factor names them all."""
    if not isinstance(factor, Mapping):
        return [(index, factor) for index in names.values()] if factor != 1 else []
    return [(names[name], value) for name, value in _by_key(what, factor, names)]


def _robot_bodies(model: mujoco.MjModel) -> list[int]:
    """The bodies of every tree that an actuator moves: the robot, not the floor, walls or loose objects."""
    roots = actuated_roots(model)
    return [body for body in range(1, model.nbody) if not roots or model.body_rootid[body] in roots]
