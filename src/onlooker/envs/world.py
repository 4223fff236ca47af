"""Where a learner lives, as a value: a robot, and how its physics differs from the one that ships.

Nothing here loads MuJoCo: configs, policies and reports say with it what a world is; `envs.dynamics` changes a model.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from onlooker.errors import UserError, nearest
from onlooker.options.spelling import Keywords, parse_count, spelled

ROBOTS = ("HalfCheetah", "Hopper", "Walker2d", "Ant")  # the paper's, in the order that tables have
MOST_STEPS = 1_000_000  # of an episode: unfinished ones are kept in memory whole
LEAST, MOST = 1e-3, 1e3  # what a factor may be
STEEPEST, LATEST = 45, 100  # degrees of a slope, control steps of a delay
SOLVERS = {  # how MuJoCo computes, by its own words
    "integrator": ("Euler", "RK4", "implicit", "implicitfast"),
    "cone": ("pyramidal", "elliptic"),  # of the contact forces
    "solver": ("PGS", "CG", "Newton"),  # of the constraints
}
Factor = float | Mapping[str, float]
"""One factor for the whole robot, or factors by name ({"torso": 2.0}); what is not named keeps its value."""


@dataclass(frozen=True)
class Dynamics:
    """How a world differs from the one that ships. Factors multiply the model's own values; 1 changes nothing."""

    gravity: float = 1.0
    """Factor on gravity."""
    density: Factor = 1.0
    """Factor on mass and inertia of the robot's bodies, or per body: torso=2,foot=0.5."""
    friction: Factor = 1.0
    """Factor on the friction of the robot's geoms (not the floor's), or per body. Pyramidal contacts soften with it."""
    damping: Factor = 1.0
    """Factor on joint damping, or per joint."""
    armature: Factor = 1.0
    """Factor on joint armature (rotor inertia), or per joint."""
    stiffness: Factor = 1.0
    """Factor on joint springs, or per joint."""
    gear: Factor = 1.0
    """Factor on the actuators' strength, or per driven joint or actuator; by name it may be 0: a broken motor."""
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Wind in m/s along x, y, z. A model without a medium gets air of 1.2 kg/m^3."""
    length: Factor = 1.0
    """Factor on the robot's limbs, or per body. Mass grows with it; what hangs on a limb moves along."""
    timestep: float = 1.0
    """Factor on the time that a physics step takes, and so a control step."""
    slope: float = 0.0
    """Degrees by which the floor rises along x. Gravity is tilted, not the floor: heights are over the slope."""
    delay: float = 0
    """Control steps from an action's choice to its doing; before the first arrives, 0 is done. Parts of a control step
    are whole physics steps: 0.4 of five is two."""
    solver: str = ""
    """How MuJoCo computes: an integrator, a cone of contact forces, a solver, or several: RK4,elliptic."""

    def __post_init__(self) -> None:
        checks = {"wind": _checked_wind, "slope": _checked_slope, "delay": _checked_delay, "solver": _checked_solver}
        for entry in fields(self):
            value = getattr(self, entry.name)
            checked = checks[entry.name](value) if entry.name in checks else _checked_factor(entry.name, value)
            object.__setattr__(self, entry.name, checked)

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.changes.items()) or "as shipped"

    @property
    def changes(self) -> dict[str, Any]:
        """Only what differs from the world as shipped, ready for JSON."""
        shipped = Dynamics.__dataclass_fields__
        return {name: getattr(self, name) for name in shipped if getattr(self, name) != shipped[name].default}

    @property
    def of_model(self) -> "Dynamics":
        """What of it is a matter of the model; the rest works in any environment."""
        return replace(self, delay=0)


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
        pairs = [part.split("=", 1) for part in text.split(",")]
        factors = {name.strip(): float(value) for name, value in pairs}
    except ValueError:
        factors = {"": 1.0}
    if "" in factors:
        raise UserError(f"{text!r} is no factor; give a number such as 0.5, or factors by name: torso=2,foot=0.5")
    if len(factors) < len(pairs):
        twice = next(name for name in factors if sum(pair[0].strip() == name for pair in pairs) > 1)
        raise UserError(f"{text!r} has {twice!r} twice")
    return factors


def _checked_factor(name: str, factor: Factor) -> Factor:
    values: dict[str, Any] = {"": factor}
    if isinstance(factor, Mapping) and name not in ("gravity", "timestep"):  # which have no parts
        values = dict(factor)
    for part, value in values.items():
        if name == "gear" and part and value == 0 and not isinstance(value, bool):  # a motor may be broken
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise UserError(f"{name} factor must be a positive, finite number, not {value!r} (1 changes nothing)")
        if not LEAST <= value <= MOST:
            raise UserError(f"{name} factor must be from {LEAST:g} to {MOST:g}, not {value!r} (1 changes nothing)")
    checked = {key: float(value) for key, value in values.items()}
    return checked.get("", checked)


def _checked_wind(wind: Any) -> tuple[float, float, float]:
    numbers = isinstance(wind, tuple | list | np.ndarray) and np.asarray(wind).dtype.kind in "iuf"
    if not numbers or len(wind) != 3 or not np.isfinite(wind).all():
        raise UserError(f"wind must be three finite numbers (m/s along x, y, z), not {wind!r}")
    x, y, z = (float(speed) for speed in wind)
    return x, y, z


def _checked_slope(slope: Any) -> float:
    number = isinstance(slope, int | float | np.number) and not isinstance(slope, bool)
    if not number or not abs(slope) <= STEEPEST:
        raise UserError(f"slope must be from -{STEEPEST} to {STEEPEST} degrees, not {slope!r}")
    return float(slope)


def _checked_delay(delay: Any) -> float:
    number = isinstance(delay, int | float | np.number) and not isinstance(delay, bool)
    if not number or not 0 <= delay <= LATEST:
        raise UserError(f"delay must be from 0 to {LATEST} control steps, not {delay!r}")
    return int(delay) if delay == int(delay) else float(delay)


def _checked_solver(given: Any) -> str:
    words = [word.strip() for word in given.split(",")] if isinstance(given, str) and given else []
    if not isinstance(given, str) or len(words) > len(SOLVERS):
        raise UserError(f"solver must be up to {len(SOLVERS)} words such as RK4,elliptic, not {given!r}")
    known = {name.lower(): name for names in SOLVERS.values() for name in names}
    for word in words:
        if word.lower() not in known:
            raise UserError(f"solver: there is no {word!r}{nearest(word, known.values())}")
    chosen = {known[word.lower()] for word in words}
    for kind, names in SOLVERS.items():
        if len(alike := [name for name in names if name in chosen]) > 1:
            raise UserError(f"solver: {' and '.join(alike)} are both a kind of {kind}; name one")
    return ",".join(name for names in SOLVERS.values() for name in names if name in chosen)


def is_robot_file(source: object) -> bool:
    """Whether an environment is named by its XML file."""
    return isinstance(source, str) and source.lower().endswith(".xml")


def check_limit(steps: int) -> None:
    """Refuse a time limit that can't be."""
    if steps < 1:
        raise UserError(f"--max-episode-steps must be at least 1, not {steps}")
    if steps > MOST_STEPS:
        raise UserError(f"--max-episode-steps must be at most {MOST_STEPS:,}, not {steps:,}")


PRESETS: dict[str, Dynamics] = {
    "none": Dynamics(),
    "low-gravity": Dynamics(gravity=0.5),
    "high-density": Dynamics(density=2.0),
    "high-friction": Dynamics(friction=3.0),
    "high-damping": Dynamics(damping=3.0),
}


def parse_wind(text: str) -> tuple[float, ...]:
    """`5` (along x) or `5,0,0`."""
    try:
        speeds = tuple(float(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is no wind; write 5 or 5,0,0") from None
    return speeds if len(speeds) != 1 else (*speeds, 0.0, 0.0)


def parse_delay(text: str) -> float:
    """`2` or `0.4`."""
    return _checked_delay(float(text))


WholeOption = Annotated[Factor | None, spelled(parse_factor, str, "X")]  # it has no parts with names
FactorOption = Annotated[Factor | None, spelled(parse_factor, str, "X | NAME=X,...")]
CountOption = Annotated[int | None, spelled(parse_count, str, "N")]
DelayOption = Annotated[float | None, spelled(parse_delay, str, "N")]
SolverOption = Annotated[str | None, spelled(str, str, "WORD,...")]
WindOption = Annotated[tuple[float, ...] | None, spelled(parse_wind, str, "X | X,Y,Z")]


@dataclass(frozen=True)
class Factors:
    """Single changes of the physics; each replaces the preset's."""

    gravity: WholeOption = None
    """Factor on gravity."""
    density: FactorOption = None
    """Factor on mass and inertia of the robot, or per body: torso=2,foot=0.5."""
    friction: FactorOption = None
    """Factor on the friction of the robot's geoms (not the floor's), or per body. More of it softens the floor in most
    models; with --solver elliptic it does not."""
    damping: FactorOption = None
    """Factor on joint damping, or per joint."""
    armature: FactorOption = None
    """Factor on joint armature, or per joint."""
    stiffness: FactorOption = None
    """Factor on joint springs, or per joint."""
    gear: FactorOption = None
    """Factor on the actuators' strength, or per driven joint; knee=0 is a broken motor."""
    wind: WindOption = None
    """Wind in m/s."""
    length: FactorOption = None
    """Factor on the length of the robot's limbs, or per body: thigh=1.3. Mass grows with it."""
    timestep: WholeOption = None
    """Factor on the time that a physics step takes, and so a control step."""
    slope: float | None = None
    """Degrees by which the floor rises along x."""
    delay: DelayOption = None
    """Control steps from an action's choice to its doing; 0.4 of five physics steps is two."""
    solver: SolverOption = None
    """How MuJoCo computes: Euler, RK4, implicit or implicitfast; pyramidal or elliptic; PGS, CG or Newton."""

    def given(self) -> dict[str, Any]:
        """The changes that were asked for."""
        factors = {name: getattr(self, name) for name in Factors.__dataclass_fields__}
        return {name: value for name, value in factors.items() if value is not None}


@dataclass(frozen=True)
class World(Factors):
    """Where the learner lives."""

    env: str = "HalfCheetah-v5"
    """A Gymnasium id (also module:Id-v0), a robot's own my_robot.xml, or `module:factory` for an environment of your
    own. Box spaces only."""
    env_kwargs: Keywords = field(default_factory=dict)
    """Keywords for the environment, for example include_cfrc_ext_in_observation=false or xml_file=my.xml."""
    max_episode_steps: CountOption = None
    """Cut episodes after this many steps; needed where the environment has no time limit."""
    dynamics: str = "none"
    """none, low-gravity, high-density, high-friction or high-damping. Single factors replace the preset's."""

    def resolve(self) -> Dynamics:
        """The preset with the explicit factors in place of its own."""
        return resolve(self.dynamics, **self.given())

    def check(self) -> None:
        """Refuse what can't work, before anything starts."""
        self.resolve()
        if self.max_episode_steps is not None:
            check_limit(self.max_episode_steps)

    @property
    def file(self) -> str | None:
        """The XML file that the robot is from, where one is named."""
        given = self.env if is_robot_file(self.env) else self.env_kwargs.get("xml_file")
        return given if isinstance(given, str) else None

    def kept_in(self, folder: Path) -> "World":
        """The same world with the robot from its copy, if there is one in the folder."""
        if self.file is None or not (copy := folder / Path(self.file).name).is_file():
            return self
        if is_robot_file(self.env):
            return replace(self, env=str(copy))
        return replace(self, env_kwargs=self.env_kwargs | {"xml_file": str(copy)})

    def under(self, dynamics: str | None, factors: Factors) -> "World":
        """The same robot elsewhere: another preset clears the old factors, single factors come on top."""
        kept = self.given() if dynamics is None else {}
        changes: dict[str, Any] = {**dict.fromkeys(Factors.__dataclass_fields__), **kept, **factors.given()}
        changed = replace(self, **changes, dynamics=dynamics or self.dynamics)
        changed.check()
        return changed
