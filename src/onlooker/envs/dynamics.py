"""Named edits of a compiled MuJoCo model: half the gravity, twice the mass, three times the friction.

Edits go to the compiled model and not to the XML: HalfCheetah's XML fixes its total mass, so that doubled
densities there change nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import mujoco
import numpy as np

from onlooker.errors import UserError, nearest

Factor = float | Mapping[str, float]
"""One factor for the whole robot, or factors by name ({"torso": 2.0}); what is not named keeps its value."""

AIR = 1.2  # kg/m^3: what a wind blows with where the model ships no medium (with none, wind would do nothing)


@dataclass(frozen=True)
class Dynamics:
    """How a world differs from the one that ships. Factors multiply the model's own values; 1 changes nothing."""

    gravity: float = 1.0
    """Factor on gravity."""
    density: Factor = 1.0
    """Factor on mass and inertia of the robot's bodies, or per body: torso=2,foot=0.5."""
    friction: Factor = 1.0
    """Factor on the friction of the robot's geoms (not the floor's), or per body."""
    damping: Factor = 1.0
    """Factor on joint damping, or per joint."""
    armature: Factor = 1.0
    """Factor on joint armature (rotor inertia), or per joint."""
    stiffness: Factor = 1.0
    """Factor on joint springs, or per joint."""
    gear: Factor = 1.0
    """Factor on the actuators' strength, or per driven joint."""
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wind in m/s along x, y, z. A model without a medium gets air of 1.2 kg/m^3."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name == "wind":
                object.__setattr__(self, "wind", _checked_wind(self.wind))
            else:
                object.__setattr__(self, field.name, _checked_factor(field.name, getattr(self, field.name)))

    @property
    def changes(self) -> dict[str, Any]:
        """Only what differs from the world as shipped, ready for JSON."""
        shipped = Dynamics.__dataclass_fields__
        return {name: getattr(self, name) for name in shipped if getattr(self, name) != shipped[name].default}

    def apply(self, model: mujoco.MjModel) -> None:
        """Edit a freshly compiled model in place."""
        bodies = _robot_bodies(model)
        body_names = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f"body{i}": i for i in bodies}
        joint_names = {
            mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i) or f"joint{i}": i for i in range(model.njnt)
        }

        touched: dict[str, bool] = {}

        def scale(what: str, array: np.ndarray, where: Any, factor: float) -> None:
            touched[what] = touched.get(what, False) or bool(np.any(array[where]))
            array[where] *= factor

        model.opt.gravity *= self.gravity
        for body, factor in _by_index("density", self.density, body_names):
            scale("density", model.body_mass, body, factor)
            scale("density", model.body_inertia, body, factor)
        for body, factor in _by_index("friction", self.friction, body_names):
            scale("friction", model.geom_friction, model.geom_bodyid == body, factor)
        for joint, factor in _by_index("damping", self.damping, joint_names):
            scale("damping", model.dof_damping, model.dof_jntid == joint, factor)
            if hasattr(model, "dof_dampingpoly"):  # the velocity-dependent part, from MuJoCo 4 on
                scale("damping", model.dof_dampingpoly, model.dof_jntid == joint, factor)
        for joint, factor in _by_index("armature", self.armature, joint_names):
            scale("armature", model.dof_armature, model.dof_jntid == joint, factor)
        for joint, factor in _by_index("stiffness", self.stiffness, joint_names):
            scale("stiffness", model.jnt_stiffness, joint, factor)
        driven = {name: joint for name, joint in joint_names.items() if joint in model.actuator_trnid[:, 0]}
        for joint, factor in _by_index("gear", self.gear, driven):
            scale("gear", model.actuator_gear, model.actuator_trnid[:, 0] == joint, factor)
        for what, changed in touched.items():
            if not changed:
                raise UserError(f"{what} is 0 in this model wherever a factor would change it: it would do nothing")
        if any(self.wind):
            model.opt.wind[:] = self.wind
            if model.opt.density == 0 and model.opt.viscosity == 0:
                model.opt.density = AIR
        if self != Dynamics():
            # Masses, armatures and gears have derived constants (inverse weights, subtree masses): recompute them.
            mujoco.mj_setConst(model, mujoco.MjData(model))


def resolve(preset: str, **explicit: Any) -> Dynamics:
    """A preset, then single factors: an explicit factor replaces the preset's. None means not given."""
    if preset not in PRESETS:
        raise UserError(f"unknown dynamics {preset!r}{nearest(preset, PRESETS)}")
    return replace(PRESETS[preset], **{name: value for name, value in explicit.items() if value is not None})


def parse_factor(text: str) -> Factor:
    """`2` -> 2.0; `torso=2,foot=0.5` -> {"torso": 2.0, "foot": 0.5}."""
    try:
        if "=" not in text:
            return float(text)
        return {name.strip(): float(value) for name, value in (part.split("=", 1) for part in text.split(","))}
    except ValueError:
        raise UserError(
            f"{text!r} is no factor; give a number such as 0.5, or factors by name: torso=2,foot=0.5"
        ) from None


def _checked_factor(name: str, factor: Factor) -> Factor:
    values: dict[str, Any] = {"": factor}
    if isinstance(factor, Mapping) and name != "gravity":  # which has no parts
        values = dict(factor)
    for value in values.values():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise UserError(f"{name} factor must be a positive, finite number, not {value!r} (1 changes nothing)")
    checked = {key: float(value) for key, value in values.items()}
    return checked.get("", checked)


def _checked_wind(wind: Any) -> tuple[float, float, float]:
    numbers = isinstance(wind, tuple | list | np.ndarray) and np.asarray(wind).dtype.kind in "iuf"
    if not numbers or len(wind) != 3 or not np.isfinite(wind).all():
        raise UserError(f"wind must be three finite numbers (m/s along x, y, z), not {wind!r}")
    x, y, z = (float(speed) for speed in wind)
    return x, y, z


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
    actuated_joints = model.actuator_trnid[model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT, 0]
    roots = {model.body_rootid[model.jnt_bodyid[joint]] for joint in actuated_joints}
    return [body for body in range(1, model.nbody) if not roots or model.body_rootid[body] in roots]


PRESETS: dict[str, Dynamics] = {
    "none": Dynamics(),
    "low-gravity": Dynamics(gravity=0.5),
    "high-density": Dynamics(density=2.0),
    "high-friction": Dynamics(friction=3.0),
    "high-damping": Dynamics(damping=3.0),
}
