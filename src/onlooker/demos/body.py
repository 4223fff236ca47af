"""A robot's joints and where an observation has them, as plain values: what a recording is compared with.

Numbers of a state have names: a hinge or slide is called by its joint (`bthigh`), its velocity `bthigh_vel`. A free
joint `root` has root_x, root_y, root_z, root_qw, root_qx, root_qy, root_qz, and root_vx, ..., root_wz; a ball joint
the quaternion and the last three.
"""

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["free", "ball", "slide", "hinge"]
PLACES = {"free": ("_x", "_y", "_z", "_qw", "_qx", "_qy", "_qz"), "ball": ("_qw", "_qx", "_qy", "_qz")}
SPEEDS = {"free": ("_vx", "_vy", "_vz", "_wx", "_wy", "_wz"), "ball": ("_wx", "_wy", "_wz")}


@dataclass(frozen=True)
class Joint:
    """One joint. A slide is in metres, a hinge in radians."""

    name: str
    kind: Kind
    place: int  # its first number among the positions
    dof: int  # its first number among the velocities
    low: float = -math.inf
    high: float = math.inf

    @property
    def places(self) -> tuple[str, ...]:
        """Names of its positions."""
        return tuple(self.name + end for end in PLACES.get(self.kind, ("",)))

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of its velocities."""
        return tuple(self.name + end for end in SPEEDS.get(self.kind, ("_vel",)))


@dataclass(frozen=True)
class Body:
    """A robot as an observation shows it."""

    name: str
    joints: tuple[Joint, ...]
    dt: float  # seconds a control step
    shown: tuple[int, ...]  # for each entry of an observation: which number of positions, then velocities; or -1
    fastest: float = math.inf  # an observation cuts velocities off at it

    @property
    def obs_size(self) -> int:
        """How many numbers an observation has."""
        return len(self.shown)

    @property
    def places(self) -> tuple[str, ...]:
        """Names of all positions."""
        return tuple(name for joint in self.joints for name in joint.places)

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of all velocities."""
        return tuple(name for joint in self.joints for name in joint.speeds)

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the numbers in an observation; empty for what is neither position nor velocity."""
        names = (*self.places, *self.speeds)
        return tuple(names[number] if number >= 0 else "" for number in self.shown)

    def place_entry(self, place: int) -> int:
        """Where an observation has a position; -1 where it has not."""
        return self.shown.index(place) if place in self.shown else -1

    def speed_entry(self, dof: int) -> int:
        """Where an observation has a velocity; -1 where it has not."""
        return self.place_entry(len(self.places) + dof)

    def label(self, entry: int) -> str:
        """`3 (bfoot)`, for messages."""
        name = self.entries[entry]
        return f"{entry} ({name})" if name else str(entry)
