"""Whether a recording can be of a robot: its ranges, and whether its positions move as its velocities say.

Everything here is plain arrays. What is odd comes back as lines for people, with the numbers and the likely cause:
units, order of columns, or rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onlooker.demos.body import Body, Joint
from onlooker.demos.dataset import Demos
from onlooker.demos.turns import turned

FAR = 15  # an expert goes beyond what chance does, but not by so much
ENOUGH = 50_000  # pairs of states
STILL = 0.01  # m/s or rad/s; slower than that, noise is all there is to see
DEGREES = 180 / np.pi
# Of angles, of lengths, and of anything else.
UNITS: dict[bool | None, dict[float, str]] = {
    True: {DEGREES: "degrees"},
    False: {1000.0: "millimetres", 100.0: "centimetres"},
    None: {},
}
WANTED = {"degrees": "radians", "millimetres": "metres", "centimetres": "metres"}
RATES = (10, 20, 24, 25, 30, 50, 60, 100, 120, 125, 200, 240, 250, 500, 1000)  # Hz: what recorders are set to


def compare(demo: Demos, body: Body, seen: np.ndarray | None = None) -> list[str]:
    """What is odd about a recording of this robot. seen: states [N, D] that the robot got into by any actions."""
    entries = demo.match_dims() or range(body.obs_size)
    column = {entry: place for place, entry in enumerate(entries)}
    found = _ranges(demo.obs, column, body, seen) + _quaternions(demo.obs, column, body)
    pairs = demo.state_pairs()
    some = slice(None, None, len(pairs[0]) // ENOUGH + 1)  # of a long recording
    state, after = (states[some].astype(np.float64) for states in pairs)
    moving = tracks(state, after, column, body) if len(state) >= 10 else []
    if not moving:
        return found
    likeness = float(np.median([track.likeness for track in moving]))
    if likeness >= 0.5:
        return found + _units_and_rate(moving, body, ", ".join(found))
    order = _order(state, after, column, body)
    problem = f"positions do not move as velocities say (likeness {likeness:.2f}, 1 is best)"
    if order:  # which explains wrong ranges too
        return [f"{problem}: {order}"]
    steps = f"{body.name} steps at {1 / body.dt:.4g} Hz"
    return [*found, f"{problem}: another order of columns, or another rate ({steps})"]


# ------------------------------------------------------------------------------------------------------------- ranges


@dataclass(frozen=True)
class Range:
    """Where an entry may lie: `low` to `high`, and so far beyond them."""

    entry: int
    angle: bool | None  # None: neither angle nor length
    low: float
    high: float
    margin: float

    def holds(self, lowest: float, highest: float) -> bool:
        """Whether a range lies within this one."""
        return self.low - self.margin <= lowest and highest <= self.high + self.margin


def allowed(body: Body, seen: np.ndarray | None = None) -> list[Range]:
    """Ranges by the joints' limits, and by where the robot was seen; an entry with neither has none.

    Limits are soft: a joint is pushed beyond, and some robots start outside. So where it was seen counts too.
    """
    limits = {
        body.place_entry(joint.place): (joint.low, joint.high)
        for joint in body.joints
        if joint.kind in ("slide", "hinge") and np.isfinite([joint.low, joint.high]).all()
    }
    kinds = {name: name in _angles(joint) for joint in body.joints for name in (*joint.places, *joint.speeds)}
    found = []
    for entry in range(body.obs_size):
        kind = kinds.get(body.entries[entry])
        low, high = limits.get(entry, (np.inf, -np.inf))
        limited = low <= high
        if seen is not None:
            low, high = min(low, float(seen[:, entry].min())), max(high, float(seen[:, entry].max()))
        if limited:
            margin = high - low + 0.2 if seen is None else (high - low) / 2 + 0.1
            found.append(Range(entry, kind, low, high, margin))
        elif seen is not None:
            margin = (FAR - 1) * max(abs(low), abs(high), 0.1)
            found.append(Range(entry, kind, low, high, margin))
    return found


def _angles(joint: Joint) -> tuple[str, ...]:
    """Names of a joint's numbers that are angles, or angles a second."""
    names = joint.speeds[-3:] if joint.kind in ("free", "ball") else (*joint.places, *joint.speeds)
    return () if joint.kind == "slide" else names


def _ranges(obs: np.ndarray, column: dict[int, int], body: Body, seen: np.ndarray | None) -> list[str]:
    """One line for each cause that takes entries out of their ranges."""
    causes: dict[str, list[str]] = {}
    for fits in (entry for entry in allowed(body, seen) if entry.entry in column):
        low, high = np.percentile(obs[:, column[fits.entry]], (2, 98))
        if fits.holds(low, high):
            continue
        cause = "is it the column of another joint, or in other units?"
        for factor, unit in UNITS[fits.angle].items():
            if fits.holds(low / factor, high / factor):
                cause = f"looks like {unit}, a factor of {factor:.4g}; {WANTED[unit]} are wanted"
                break
        numbers = f"goes from {low:.4g} to {high:.4g}, on {body.name} from {fits.low:.4g} to {fits.high:.4g}"
        causes.setdefault(cause, []).append(f"entry {body.label(fits.entry)} {numbers}")
    return [_with_more(lines, cause) for cause, lines in causes.items()]


def _with_more(lines: Sequence[str], cause: str) -> str:
    """The first lines of many, and their cause."""
    more = f" (and {len(lines) - 2} more)" if len(lines) > 2 else ""
    return f"{'; '.join(lines[:2])}{more}: {cause}"


def _quaternions(obs: np.ndarray, column: dict[int, int], body: Body) -> list[str]:
    """A line for each quaternion that is none."""
    found = []
    for joint in body.joints:
        entries = _quaternion(joint, body)
        if entries and all(entry in column for entry in entries):
            norm = np.linalg.norm(obs[:, [column[entry] for entry in entries]], axis=1)
            low, high = np.percentile(norm, (2, 98))  # the noise of a start may leave one a little off
            if low < 0.95 or high > 1.05:
                span = f"{low:.3g} to {high:.3g}"
                found.append(
                    f"entries {entries[0]} to {entries[3]} are the quaternion of {joint.name}, of length {span}, not 1"
                )
    return found


def _quaternion(joint: Joint, body: Body) -> list[int]:
    """Where an observation has a joint's quaternion."""
    if joint.kind not in ("free", "ball"):
        return []
    last = joint.place + len(joint.places)
    return [body.place_entry(place) for place in range(last - 4, last)]


# ------------------------------------------------------------------------------------------------------------- motion


@dataclass(frozen=True)
class Track:
    """How one degree of freedom moves: by its positions, and by its velocity. Both [N], in a control step."""

    place: int  # entries
    speed: int
    angle: bool
    moved: np.ndarray
    said: np.ndarray

    @property
    def likeness(self) -> float:
        """1 where the two are in proportion, 0 where they have nothing to do with each other."""
        return _cosine(self.moved, self.said)

    @property
    def slope(self) -> float:
        """How many times farther it moved than its velocity says."""
        return float((self.moved * self.said).sum() / (self.said**2).sum())


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    size = np.sqrt((left**2).sum() * (right**2).sum())
    return float((left * right).sum() / size) if size > 0 else 0.0


def tracks(state: np.ndarray, after: np.ndarray, column: dict[int, int], body: Body) -> list[Track]:
    """The degrees of freedom whose position and velocity are both on record, and that move."""
    found = []
    for joint in body.joints:
        for place, dof, moved in _moves(joint, state, after, column, body):
            if (speed := body.speed_entry(dof)) not in column:
                continue
            before, then = state[:, column[speed]], after[:, column[speed]]
            said = (before + then) / 2 * body.dt
            cut = np.abs([before, then]).max() * (1 - 1e-6)  # some environments cut velocities off at a bound
            free = (np.abs(before) < cut) & (np.abs(then) < cut)
            free |= free.mean() < 0.5  # or it goes at an even rate
            if free.sum() >= 10 and said[free].std() + abs(said[free].mean()) > STILL * body.dt:
                angle = joint.kind in ("hinge", "ball") or dof - joint.dof >= 3
                found.append(Track(place, speed, angle, moved[free], said[free]))
    return found


def _moves(
    joint: Joint, state: np.ndarray, after: np.ndarray, column: dict[int, int], body: Body
) -> list[tuple[int, int, np.ndarray]]:
    """(entry of the position, degree of freedom, how far it moved [N]) of a joint, for what is on record."""
    found = []
    straight = {"free": 3, "ball": 0}.get(joint.kind, 1)
    for axis in range(straight):
        if (entry := body.place_entry(joint.place + axis)) in column:
            found.append((entry, joint.dof + axis, (after - state)[:, column[entry]]))
    turn = _quaternion(joint, body)
    if turn and all(entry in column for entry in turn):
        columns = [column[entry] for entry in turn]
        rotation = turned(state[:, columns], after[:, columns])
        found += [(turn[0], joint.dof + straight + axis, rotation[:, axis]) for axis in range(3)]
    return found


def _units_and_rate(moving: list[Track], body: Body, known: str) -> list[str]:
    """Positions in other units than velocities; or faster or slower than the robot's control steps; or some astray."""
    astray = [track for track in moving if track.likeness < 0.3]
    moving = [track for track in moving if track.likeness >= 0.5]
    slopes = np.array([track.slope for track in moving])
    alike = (np.abs(np.log(slopes / np.median(slopes))) < 0.3).all() and len({track.angle for track in moving}) == 2
    causes: dict[str, list[str]] = {}
    off = np.zeros(len(moving), bool)
    for index, track in enumerate(moving):
        for factor, unit in UNITS[track.angle].items():
            whose = {1: f"are positions in {unit}?", -1: f"are velocities in {unit} a second?"}
            for sign, cause in whose.items():
                # All alike, lengths and angles, is the rate.
                if abs(np.log(track.slope) - sign * np.log(factor)) < 0.2 and not alike:
                    off[index] = True
                    line = f"entry {body.label(track.place)} moves {track.slope:.3g} times as far as its velocity says"
                    if f"like {unit}" not in known:
                        causes.setdefault(cause, []).append(line)
    found = [_with_more(lines, cause) for cause, lines in causes.items()]
    common = float(np.median(slopes[~off])) if not off.all() else 1.0
    agree = (np.abs(np.log(slopes[~off] / common)) < 0.35).mean() >= 0.6 if not off.all() else False
    if agree and abs(np.log(common)) > 0.4:
        rate = 1 / (common * body.dt)
        near = min(RATES, key=lambda usual: abs(np.log(usual / rate)))
        said = f"{near}" if abs(np.log(near / rate)) < 0.12 else f"{float(f'{rate:.2g}'):g}"
        steps = f"looks like {said} Hz, {body.name} steps at {1 / body.dt:.4g} Hz"
        return [*found, f"positions move {common:.3g} times as far in a step as velocities say: {steps}"]
    lines = [f"entry {body.label(track.place)} does not move as {body.label(track.speed)} says" for track in astray]
    return [*found, _with_more(lines, "are these columns swapped with others?")] if lines else found


def _order(state: np.ndarray, after: np.ndarray, column: dict[int, int], body: Body) -> str | None:
    """Positions have nothing to do with velocities: which other order of the columns fits, if any does."""
    if state.shape[1] == body.obs_size:
        shown, count = np.array(body.shown), len(body.places)
        places, speeds = np.flatnonzero((shown >= 0) & (shown < count)), np.flatnonzero(shown >= count)
        both = np.concatenate([places, speeds])
        moved_to = {
            "reversed": (np.arange(body.obs_size), np.arange(body.obs_size)[::-1]),
            "velocities first": (np.concatenate([speeds, places]), np.sort(both)),
            "positions reversed": (places, places[::-1]),
            "velocities reversed": (speeds, speeds[::-1]),
            "positions and velocities reversed, each": (both, np.concatenate([places[::-1], speeds[::-1]])),
        }
        for name, (entries, columns) in moved_to.items():
            order = np.arange(body.obs_size)
            order[entries] = columns
            moving = tracks(state[:, order], after[:, order], column, body)
            fits = [track.likeness for track in moving]
            if fits and min(fits) > 0.5 and np.median(fits) > 0.75:
                return f"the columns look like {name} ({np.median(fits):.2f} in that order)"
    names = [body.label(entry) for entry in column]
    pairs = [(names[a], names[b]) for a, b in partners(state, after)]
    if len(pairs) < 2:
        return None
    lines = [f"entry {place} moves as {speed} says" for place, speed in pairs]
    return _with_more(lines, "the columns look to be in another order")


def partners(state: np.ndarray, after: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of columns (a, b) such that a moves as b says, and as no other column does."""
    moved, said = after - state, (after + state) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        likeness = np.nan_to_num((moved / np.linalg.norm(moved, axis=0)).T @ (said / np.linalg.norm(said, axis=0)))
    best = likeness.argmax(axis=1)
    return [
        (a, int(b))
        for a, b in enumerate(best)
        if likeness[a, b] > 0.8 and likeness[:, b].argmax() == a and np.sort(likeness[a])[-2] < 0.9 * likeness[a, b]
    ]
