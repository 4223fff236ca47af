"""Recordings by name and time: columns named after joints, at any rate, as states of a robot.

A recording is a table: names of columns, and numbers [T, C] with NaN where there are none. A `Body` says what the
names mean. Nothing here knows MuJoCo.
"""

import math
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from onlooker.demos.body import Body, Joint
from onlooker.demos.dataset import Demos, brief, listed
from onlooker.demos.files import reading
from onlooker.demos.turns import between, turned
from onlooker.errors import UserError, nearest

LEFT_OUT = "-"  # a column that is mapped to this is not looked at
TIME, EPISODE = "time", "episode"
MOST_STATES, MOST_MAP = 10_000_000, 2**20


@dataclass(frozen=True)
class Reading:
    """How the columns of a recording are to be read."""

    names: Mapping[str, str] = field(default_factory=dict)  # of a column -> of what it holds, where they differ
    rate: float | None = None  # rows a second, where no column tells the time
    degrees: bool = False  # angles, and angles a second
    smooth: int = 1  # average positions over so many rows
    fill: float = 0.0  # seconds: longer gaps are refused

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise UserError(f"--rate must be a positive number of rows a second, not {self.rate}")
        if self.smooth < 1 or self.smooth % 2 == 0:
            raise UserError(f"--smooth must be an odd number of rows, 1 or more, not {self.smooth}")
        if not 0 <= self.fill < math.inf:
            raise UserError(f"--fill must be 0 or more seconds, not {self.fill}")


def parse_map(text: str) -> dict[str, str]:
    """`left_knee=knee,note=-`, or the name of a .toml file with lines such as `left_knee = "knee"`."""
    if text.endswith(".toml"):
        with reading(path := Path(text), "a TOML file of names"):
            if path.stat().st_size > MOST_MAP:
                raise UserError(f"holds more than {MOST_MAP:,} bytes")
            found = tomllib.loads(path.read_text(encoding="utf-8"))
            for name, meaning in found.items():
                if not isinstance(meaning, str):
                    raise UserError(f'{brief(name)} must be the name of a joint, as in left_knee = "knee"')
            return found
    pairs = [part.partition("=") for part in text.split(",")]
    for name, equals, meaning in pairs:
        if not (equals and name.strip() and meaning.strip()):
            raise UserError(f"--map '{brief(text)}' is no list of COLUMN=JOINT,... and no .toml file")
    names = [name.strip() for name, _, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"--map names '{brief(twice)}' twice")
    return dict(zip(names, (meaning.strip() for _, _, meaning in pairs)))


def read(names: list[str], table: np.ndarray, body: Body, how: Reading) -> Demos:
    """The recording as states of the robot, one a control step: the entries of an observation that it tells.

    Where these are not all, meta["match_dims"] says which they are.
    """
    columns = _meanings(names, body, how.names)
    known = {meaning: table[:, column] for meaning, column in columns.items()}
    labels = known.pop(EPISODE, np.zeros(len(table)))
    starts = np.flatnonzero(np.diff(labels, prepend=np.nan) != 0)
    if np.isnan(labels).any() or len(np.unique(labels)) != len(starts):
        raise UserError(
            "the column episode must have a number in each row, and an episode's rows must follow each other"
        )
    clips = []
    for start, stop in zip(starts, [*starts[1:], len(table)]):
        clip = {name: values[start:stop] for name, values in known.items()}
        clips.append(_clip(clip, body, how, int(start)))
    if not clips:
        raise UserError("there are no rows")
    entries = [entry for entry, name in enumerate(body.entries) if name in clips[0]]
    if not entries:
        holds = listed(filter(None, body.entries), 99)
        raise UserError(f"the columns tell nothing that an observation of {body.name} holds ({holds})")
    states = [np.stack([clip[body.entries[entry]] for entry in entries], axis=1) for clip in clips]
    meta = {} if entries == list(range(body.obs_size)) else {"match_dims": entries}
    return Demos(np.concatenate(states), lengths=np.array([len(clip) for clip in states]), meta=meta)


def _meanings(names: list[str], body: Body, renamed: Mapping[str, str]) -> dict[str, int]:
    """Which column holds what: positions and velocities by their names, time, episode."""
    good = (*body.places, *body.speeds, TIME, EPISODE)
    by_lower = {name.lower(): name for name in good}
    for name in renamed:
        if name not in names:
            raise UserError(f"--map names a column '{brief(name)}' that is not there{_near(name, names)}")
    found: dict[str, int] = {}
    for column, name in enumerate(names):
        asked = renamed.get(name, name)
        if asked == LEFT_OUT:
            continue
        meaning = asked if asked in good else by_lower.get(asked.lower())
        if meaning is None:
            whose = f"column '{brief(name)}'" + (f", mapped to '{brief(asked)}'," if asked != name else "")
            hint = f"; write --map '{brief(name)}=JOINT', or ={LEFT_OUT} to leave it out"
            raise UserError(f"{whose} names no joint of {body.name}{_near(asked, good)}{hint}")
        if meaning in found:
            raise UserError(f"two columns hold {meaning!r}: '{brief(names[found[meaning]])}' and '{brief(name)}'")
        found[meaning] = column
    if not found.keys() - {TIME, EPISODE}:
        raise UserError(f"no column is named after a joint of {body.name} (one of: {', '.join(good[:-2])})")
    for joint in body.joints:
        turn = _quaternion(joint)
        there = [name for name in turn if name in found]
        if there and len(there) < 4:
            lacking = next(name for name in turn if name not in found)
            raise UserError(f"{there[0]} is there without {lacking}: a quaternion needs all four")
    return found


def _near(name: str, good: tuple[str, ...] | list[str]) -> str:
    return nearest(brief(name), [brief(word) for word in good])


def _quaternion(joint: Joint) -> tuple[str, ...]:
    return joint.places[-4:] if joint.kind in ("free", "ball") else ()


# ----------------------------------------------------------------------------------------------------------- one clip


def _clip(known: dict[str, np.ndarray], body: Body, how: Reading, first: int) -> dict[str, np.ndarray]:
    """Positions and velocities by name, one a control step. `first` is the row that the clip starts at."""
    time = _times(known, how, first)
    turns = [turn for joint in body.joints if (turn := _quaternion(joint)) and turn[0] in known]
    values = {name: column for name, column in known.items() if name != TIME}
    for turn in turns:
        values |= _together(turn, _aligned(turn, _stacked(turn, values), first))
    for name in values:
        values[name] = _filled(name, values[name], time, how.fill, first)
    for name in _angles(body) & values.keys() if how.degrees else ():
        values[name] = np.radians(values[name])
    for name in set(body.places) & values.keys():
        values[name] = _smoothed(values[name], how.smooth)
    for turn in turns:
        states = _stacked(turn, values)
        values |= _together(turn, states / np.linalg.norm(states, axis=1, keepdims=True))
    values |= _speeds(values, time, body)
    return _resampled(values, time, body, turns)


def _times(known: dict[str, np.ndarray], how: Reading, first: int) -> np.ndarray:
    """Seconds [T] since the first row."""
    rows = len(next(iter(known.values())))
    if TIME not in known:
        if how.rate is None:
            raise UserError("when was each row recorded? Give a column named time, in seconds, or --rate in Hz")
        return np.arange(rows) / how.rate
    time = known[TIME]
    for row in np.flatnonzero(~np.isfinite(time))[:1]:
        raise UserError(f"time is {time[row]} at row {first + row}")
    for row in np.flatnonzero(np.diff(time) <= 0)[:1] + 1:
        verb = "repeats" if time[row] == time[row - 1] else "goes back"
        raise UserError(f"time {verb} at row {first + row}: {time[row]:g} after {time[row - 1]:g}")
    if how.rate is not None and rows > 1:
        own = 1 / float(np.median(np.diff(time)))
        if abs(math.log(own / how.rate)) > 0.02:
            raise UserError(
                f"--rate {how.rate:g} does not fit the column time, by which it is {own:.4g} Hz; give one of them"
            )
    return time - time[0]


def _filled(name: str, column: np.ndarray, time: np.ndarray, most: float, first: int) -> np.ndarray:
    """The column without NaN: gaps of up to `most` seconds between two numbers are interpolated."""
    if np.isinf(column).any():
        raise UserError(f"{name} is infinite at row {first + int(np.flatnonzero(np.isinf(column))[0])}")
    bad = np.isnan(column)
    if not bad.any():
        return column
    good = np.flatnonzero(~bad)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(int)))
    for start, stop in edges.reshape(-1, 2):
        rows = f"row {first + start}" if stop - start == 1 else f"rows {first + start} to {first + stop - 1}"
        if start == 0 or stop == len(column):
            edge = "starts" if start == 0 else "ends"
            raise UserError(f"{name} has no number at {rows}, where the recording {edge}: cut these rows off")
        gap = float(time[stop] - time[start - 1])
        if gap > most * (1 + 1e-9):
            raise UserError(
                f"{name} has no number at {rows}, a gap of {gap:.3g} s; --fill {gap:.3g} would interpolate it"
            )
    return np.interp(time, time[good], column[good])


def _stacked(names: tuple[str, ...], values: Mapping[str, np.ndarray]) -> np.ndarray:
    """[T, names]."""
    return np.stack([values[name] for name in names], axis=1)


def _together(names: tuple[str, ...], columns: np.ndarray) -> dict[str, np.ndarray]:
    """What `_stacked` took apart."""
    return dict(zip(names, columns.T))


def _aligned(names: tuple[str, ...], turn: np.ndarray, first: int) -> np.ndarray:
    """Quaternions [T, 4], each on the side of the one before it; a row that lacks a number has none."""
    turn = np.where(np.isnan(turn).any(axis=1, keepdims=True), np.nan, turn)
    good = np.flatnonzero(np.isfinite(turn).all(axis=1))
    length = np.linalg.norm(turn[good], axis=1)
    for row in np.flatnonzero(np.abs(length - 1) > 0.1)[:1]:
        where = f"{names[0]} to {names[3]} are no quaternion at row {first + good[row]}"
        raise UserError(f"{where}: their length is {length[row]:.3g}, not 1")
    flips = np.cumsum((turn[good][1:] * turn[good][:-1]).sum(axis=1) < 0) % 2
    turn[good[1:]] *= np.where(flips, -1.0, 1.0)[:, None]
    return turn


def _angles(body: Body) -> set[str]:
    """Names of what is measured in radians, or radians a second."""
    hinges = {name for joint in body.joints if joint.kind == "hinge" for name in (*joint.places, *joint.speeds)}
    return hinges | {name for joint in body.joints if joint.kind in ("free", "ball") for name in joint.speeds[-3:]}


def _smoothed(column: np.ndarray, rows: int) -> np.ndarray:
    """Each number the mean of `rows` numbers around it, of fewer at the ends."""
    ones = np.ones(min(rows, len(column) - 1 + len(column) % 2))
    return np.convolve(column, ones, "same") / np.convolve(np.ones(len(column)), ones, "same")


def _speeds(values: dict[str, np.ndarray], time: np.ndarray, body: Body) -> dict[str, np.ndarray]:
    """Velocities by differences, of positions that have none on record: the mean of the step before and after."""
    found: dict[str, np.ndarray] = {}
    if len(time) < 2:
        return found
    for joint in body.joints:
        turn = _quaternion(joint)
        straight = [(place, speed) for place, speed in zip(joint.places, joint.speeds) if place not in turn]
        for place, speed in straight:
            if place in values and speed not in values:
                found[speed] = _mean_of_neighbours(np.diff(values[place]) / np.diff(time))
        if turn and turn[0] in values:
            states = _stacked(turn, values)
            rates = turned(states[:-1], states[1:]) / np.diff(time)[:, None]
            for axis, speed in enumerate(joint.speeds[-3:]):
                if speed not in values:
                    found[speed] = _mean_of_neighbours(rates[:, axis])
    return found


def _mean_of_neighbours(steps: np.ndarray) -> np.ndarray:
    """[T - 1] between rows -> [T] at rows."""
    return (np.concatenate([steps[:1], steps]) + np.concatenate([steps, steps[-1:]])) / 2


def _resampled(
    values: dict[str, np.ndarray], time: np.ndarray, body: Body, turns: list[tuple[str, ...]]
) -> dict[str, np.ndarray]:
    """The same at the robot's control steps: numbers on a straight line, quaternions at an even rate."""
    lasts = float(time[-1]) if len(time) else 0.0
    count = math.floor(lasts / body.dt + 1e-6) + 1
    if count < 2:
        rate = f"{body.name} makes a step in {body.dt:g} s"
        raise UserError(f"the recording lasts {lasts:.3g} s, but {rate}: does the rate fit?")
    if count > MOST_STATES:
        raise UserError(f"the recording lasts {lasts:.3g} s, {count:,} control steps; the limit is {MOST_STATES:,}")
    if len(time) * 4 < count:
        warnings.warn(f"{len(time)} rows make {count} states: most of them are interpolated", UserWarning, stacklevel=2)
    at = np.minimum(body.dt * np.arange(count), lasts)
    found = {name: np.interp(at, time, column) for name, column in values.items()}
    before = np.clip(np.searchsorted(time, at, "right") - 1, 0, len(time) - 2)
    part = ((at - time[before]) / np.diff(time)[before])[:, None]
    for turn in turns:
        states = _stacked(turn, values)
        found |= _together(turn, between(states[before], states[before + 1], part))
    for name in set(body.speeds) & found.keys():
        found[name] = np.clip(found[name], -body.fastest, body.fastest)
    return found
