"""Where a learner lives, as a value: a robot, and how its physics differs from the one that ships.

Nothing here loads MuJoCo: configs, policies and reports say with it what a world is; `envs.dynamics` changes a model.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from onlooker.errors import UserError, nearest
from onlooker.options.spelling import Count, Keywords, spelled

ROBOTS = ("HalfCheetah", "Hopper", "Walker2d", "Ant")  # the paper's, in the order that tables have
MOST_STEPS = 1_000_000  # of an episode: unfinished ones are kept in memory whole
LEAST, MOST = 1e-3, 1e3  # what a factor may be
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
        for entry in fields(self):
            if entry.name == "wind":
                object.__setattr__(self, "wind", _checked_wind(self.wind))
            else:
                object.__setattr__(self, entry.name, _checked_factor(entry.name, getattr(self, entry.name)))

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.changes.items()) or "as shipped"

    @property
    def changes(self) -> dict[str, Any]:
        """Only what differs from the world as shipped, ready for JSON."""
        shipped = Dynamics.__dataclass_fields__
        return {name: getattr(self, name) for name in shipped if getattr(self, name) != shipped[name].default}


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
    if isinstance(factor, Mapping) and name != "gravity":  # which has no parts
        values = dict(factor)
    for value in values.values():
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
    speeds = tuple(float(word) for word in text.split(","))
    return speeds if len(speeds) != 1 else (*speeds, 0.0, 0.0)


FactorOption = Annotated[Factor | None, spelled(parse_factor, str, "X | NAME=X,...")]
Wind = Annotated[tuple[float, ...], spelled(parse_wind, str, "X | X,Y,Z")]


@dataclass(frozen=True)
class Factors:
    """Single changes of the physics; each replaces the preset's."""

    gravity: FactorOption = None
    """Factor on gravity."""
    density: FactorOption = None
    """Factor on mass and inertia of the robot, or per body: torso=2,foot=0.5."""
    friction: FactorOption = None
    """Factor on the friction of the robot's geoms (not the floor's), or per body."""
    damping: FactorOption = None
    """Factor on joint damping, or per joint."""
    armature: FactorOption = None
    """Factor on joint armature, or per joint."""
    stiffness: FactorOption = None
    """Factor on joint springs, or per joint."""
    gear: FactorOption = None
    """Factor on the actuators' strength, or per driven joint."""
    wind: Wind | None = None
    """Wind in m/s."""

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
    max_episode_steps: Count | None = None
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

    def under(self, dynamics: str | None, factors: Factors) -> "World":
        """The same robot elsewhere: another preset clears the old factors, single factors come on top."""
        kept = self.given() if dynamics is None else {}
        changes: dict[str, Any] = {**dict.fromkeys(Factors.__dataclass_fields__), **kept, **factors.given()}
        changed = replace(self, **changes, dynamics=dynamics or self.dynamics)
        changed.check()
        return changed
