"""What can't be guessed of a robot from its XML file: a small TOML file beside it."""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from onlooker.envs.keywords import MOST_FRAMES
from onlooker.envs.world import MOST_STEPS
from onlooker.errors import UserError, nearest, printable

OBSERVABLE = ("place", "qpos", "qvel", "act", "actuator_force", "sensordata", "cfrc_ext")
"""`qpos` is without the root's horizontal place, which is `place`; the others are MuJoCo's own names."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Fallen:
    """When the episode ends: the root body has left one of these ranges."""

    height: Range = (-math.inf, math.inf)  # m, of its origin
    tilt: Range = (0.0, 180.0)  # degrees, from how it stands at the start


@dataclass(frozen=True)
class Settings:
    """The keys of the file."""

    frame_skip: int | None = None  # physics steps in a control step; None: as many as make 0.02 s or a little more
    observe: tuple[str, ...] = ("qpos", "qvel")
    fallen: Fallen = Fallen()
    time_limit: int = 1000  # control steps
    noise: float = 0.01  # of the first state: uniform, in m and rad, and in m/s and rad/s
    follow: str | None = None  # the body whose forward speed is told


def read_settings(xml: Path) -> Settings:
    """The settings of a robot: `my_robot.toml` beside `my_robot.xml`, or what is usual without one."""
    path = xml.with_suffix(".toml")
    if not path.exists():
        return Settings()
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as failure:  # of TOML and of UTF-8, both
        raise UserError(f"can't read {path}: {printable(str(failure))}") from failure
    return _filled(path, Settings, given, "")


def _filled(path: Path, cls: Any, given: dict[str, Any], within: str) -> Any:
    known = [field.name for field in fields(cls)]
    values = {}
    for key, value in given.items():
        if key not in known:
            raise UserError(f"{path} has an unknown key {printable(within + key)!r}{nearest(key, known)}")
        if key == "fallen":
            if not isinstance(value, dict):
                raise UserError(f"{path}: fallen must be a table of height and tilt, not {value!r}")
            values[key] = _filled(path, Fallen, value, "fallen.")
            continue
        fits, meant = KINDS[key]
        if not fits(value):
            raise UserError(f"{path}: {within}{key} must be {meant}, not {printable(repr(value))}")
        values[key] = tuple(value) if isinstance(value, list) else value
    return cls(**values)


def _whole(most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_number, value)) and value[0] < value[1]


def _names(value: Any) -> bool:
    some = isinstance(value, list) and len(value) > 0
    return some and all(isinstance(v, str) and v in OBSERVABLE for v in value) and len(set(value)) == len(value)


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "frame_skip": (_whole(MOST_FRAMES), f"a whole number from 1 to {MOST_FRAMES}"),
    "observe": (_names, f"a list of some of {', '.join(OBSERVABLE)}, each once"),
    "height": (_range, "two numbers, low and high, in m"),
    "tilt": (_range, "two numbers, low and high, in degrees"),
    "time_limit": (_whole(MOST_STEPS), f"a whole number of control steps, from 1 to {MOST_STEPS}"),
    "noise": (lambda value: _number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "follow": (lambda value: isinstance(value, str), "the name of a body"),
}
"""Key -> whether a value fits, and what to say when it does not."""
