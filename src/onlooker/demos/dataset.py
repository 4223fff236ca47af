"""Demonstrations in memory: what they hold, what is refused and what looks odd."""

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onlooker.errors import UserError, printable

KEYS = ("obs", "action", "next_obs", "terminated", "truncated", "lengths", "meta")
MAX_META, MAX_DEPTH = 2**20, 50  # characters of JSON, and how deep its lists and objects nest


@dataclass(frozen=True, eq=False)
class Demos:
    """Recorded episodes, one after the other: T states of D numbers, perhaps actions of A numbers, E episodes.

    Making one converts numbers to float32 and refuses (UserError) wrong shapes and types. Without `lengths`, an
    episode ends at each terminated or truncated row; without those too, all rows are one episode.
    """

    obs: np.ndarray  # [T, D] float32
    action: np.ndarray | None = None  # [T, A] float32, as given to the environment
    next_obs: np.ndarray | None = None  # [T, D] float32, the true successor of each state
    terminated: np.ndarray | None = None  # [T] bool, of the step that leaves the row's state
    truncated: np.ndarray | None = None  # [T] bool
    lengths: np.ndarray = None  # type: ignore[assignment]  # [E] int64, sums to T; never None once made
    meta: dict = field(default_factory=dict)  # JSON values; "env" and "returns" (one number an episode) are used

    def __post_init__(self):
        parts: dict[str, Any] = {"obs": _numbers("obs", self.obs)}
        rows, size = parts["obs"].shape
        for name in ("action", "next_obs", "terminated", "truncated"):
            value = getattr(self, name)
            convert = _numbers if name in ("action", "next_obs") else _flags
            parts[name] = None if value is None else convert(name, value)
            if value is not None and len(parts[name]) != rows:
                raise UserError(f"{name} has {len(parts[name])} rows, but obs has {rows}: they must be equal")
        if parts["next_obs"] is not None and parts["next_obs"].shape[1] != size:
            raise UserError(f"next_obs has {parts['next_obs'].shape[1]} numbers a state, but obs has {size}")
        if not isinstance(self.meta, dict):
            raise UserError(f"meta is a {type(self.meta).__name__}; it must be a dict (a JSON object)")
        parts["lengths"] = _lengths(self.lengths, rows, parts["terminated"], parts["truncated"])
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def episodes(self) -> list[tuple[int, int]]:
        """The rows of each episode: E pairs (start, stop)."""
        stops = np.cumsum(self.lengths)
        return [(int(stop - length), int(stop)) for stop, length in zip(stops, self.lengths)]

    def state_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """States and their successors, both [N, D]: N = T with next_obs, else T - 1 for each episode of T states."""
        if self.next_obs is not None:
            return self.obs, self.next_obs
        first = np.delete(np.arange(len(self.obs)), np.cumsum(self.lengths) - 1)
        return self.obs[first], self.obs[first + 1]

    def take(self, episodes: int | None = None, stride: int = 1) -> "Demos":
        """The first `episodes` episodes (None: all), and of each its first state and every stride-th one after it.

        With a stride above 1, `next_obs` is dropped, as it is one step away and the next row is not; a row is
        terminated or truncated if any of the steps that it now stands for was. An action stays with its state.
        """
        count = len(self.lengths)
        if episodes is not None and not 1 <= episodes <= count:
            raise UserError(f"cannot take {episodes} episodes: the demonstration has {count} (take 1 to {count})")
        if stride < 1:
            raise UserError(f"stride {stride} is not a whole number of at least 1")
        spans = self.episodes()[:episodes]
        kept = np.concatenate([np.arange(start, stop, stride) for start, stop in spans])
        meta = dict(self.meta)
        if self.returns() is not None:
            meta["returns"] = meta["returns"][:episodes]

        def any_step(flags: np.ndarray | None) -> np.ndarray | None:
            return None if flags is None else np.logical_or.reduceat(flags[: spans[-1][1]], kept)

        return Demos(
            obs=self.obs[kept],
            action=None if self.action is None else self.action[kept],
            next_obs=None if self.next_obs is None or stride > 1 else self.next_obs[kept],
            terminated=any_step(self.terminated),
            truncated=any_step(self.truncated),
            lengths=np.array([len(range(start, stop, stride)) for start, stop in spans]),
            meta=meta,
        )

    def states_only(self) -> "Demos":
        """The same recording without its actions."""
        return replace(self, action=None)

    def returns(self) -> np.ndarray | None:
        """[E] float64, the true return of each episode by meta["returns"]; None if the recording does not say."""
        values = self.meta.get("returns")
        if not isinstance(values, list) or len(values) != len(self.lengths):
            return None
        if not all(isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63) for value in values):
            return None
        returns = np.array(values, np.float64)
        return returns if np.isfinite(returns).all() else None

    def match_dims(self) -> tuple[int, ...] | None:
        """Which entries of an observation the recorded numbers are, by meta["match_dims"]; None for all of them."""
        dims = self.meta.get("match_dims")
        if dims is None:
            return None
        whole = isinstance(dims, list) and all(type(dim) is int and dim >= 0 for dim in dims)
        if not whole or len(set(dims)) != self.obs.shape[1] or len(dims) != self.obs.shape[1]:
            raise UserError(
                f"match_dims in meta must name {self.obs.shape[1]} different entries of an observation, one a recorded "
                f"number, not {brief(dims)}"
            )
        return tuple(dims)


def _array(name: str, value: Any) -> np.ndarray:
    """A numeric numpy array of `value`, or UserError."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise UserError(f"{name} is ragged: its rows have different lengths") from None
    if array.dtype.kind not in "fiub":
        raise UserError(f"{name} holds {array.dtype.name} values; it must hold plain numbers")
    return array


def _numbers(name: str, value: Any) -> np.ndarray:
    """[T, n] float32."""
    array = _array(name, value)
    if array.ndim != 2 or array.shape[1] == 0:
        raise UserError(f"{name} has shape {array.shape}; it must be [steps, numbers a step]")
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which `check` reports by row
        return array.astype(np.float32, copy=False)


def _flags(name: str, value: Any) -> np.ndarray:
    """[T] bool."""
    array = _array(name, value)
    if array.ndim != 1:
        raise UserError(f"{name} must be one true or false (1 or 0) a step; it is {array.dtype} of shape {array.shape}")
    for row in np.flatnonzero(~np.isin(array, (0, 1)))[:1]:
        raise UserError(f"{name} must be one true or false (1 or 0) a step; it is {array[row]} at row {row}")
    return array.astype(bool, copy=False)


def _lengths(value: Any, rows: int, terminated: np.ndarray | None, truncated: np.ndarray | None) -> np.ndarray:
    """[E] int64, as given or else found from the flags."""
    if value is None:
        ends = np.zeros(rows, bool) if terminated is None else terminated.copy()
        ends |= False if truncated is None else truncated
        ends[-1:] = True
        return np.diff(np.flatnonzero(ends), prepend=-1)
    array = _array("lengths", value)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UserError(f"lengths must be whole numbers, one an episode; it is {array.dtype} of shape {array.shape}")
    least, total = min(array.tolist(), default=1), sum(array.tolist())  # Python's integers: no overflow
    if least < 1 or total != rows:
        raise UserError(f"lengths sum to {total}, the least is {least}; each must be 1 or more, their sum {rows}")
    last = np.cumsum(array.astype(np.int64)) - 1
    for name, flags in (("terminated", terminated), ("truncated", truncated)):
        within = np.setdiff1d(np.flatnonzero(flags), last) if flags is not None else ()
        for row in within[:1]:
            stop = last[np.searchsorted(last, row)]
            raise UserError(f"{name} is true at row {row}, but by lengths the episode goes on to row {stop}")
    return array.astype(np.int64)


def check(demos: Demos, obs_size: int | None = None, env_name: str = "the environment") -> list[str]:
    """Refuse (UserError) what cannot be learned from; return warnings about what looks odd. Pure."""
    count, size = demos.obs.shape
    if count < 2:
        raise UserError(f"{count} recorded states are too few; at least 2 are needed")
    dims = demos.match_dims()
    if dims is not None and obs_size is not None:
        if max(dims) >= obs_size:
            raise UserError(f"the recording holds entry {max(dims)}, but a state of {env_name} has {obs_size} numbers")
    elif obs_size is not None and size != obs_size:
        raise UserError(f"a recorded state has {size} numbers, but a state of {env_name} has {obs_size}")
    for name in ("obs", "next_obs", "action"):
        if (values := getattr(demos, name)) is not None and not np.isfinite(values).all():
            bad = np.argwhere(~np.isfinite(values))
            row, column = bad[0]
            what = "NaN" if np.isnan(values[row, column]) else "infinite (or too large for float32)"
            raise UserError(f"{name} is {what} at row {row}, column {column} (bad numbers in all: {len(bad)})")
    if (demos.obs == demos.obs[0]).all():
        raise UserError(f"all {count} recorded states are the same: there is nothing to imitate")
    found, episodes = [], len(demos.lengths)
    state, next_state = demos.state_pairs()
    repeats = int((state == next_state).all(axis=1).sum())
    if repeats > 0.1 * count:
        found.append(f"{repeats} of {count} states are followed by the same state again")
    copies = episodes - len({demos.obs[start:stop].tobytes() for start, stop in demos.episodes()})
    if copies:
        found.append(f"{copies} of {episodes} episodes are copies of another one")
    if len(state) == 0:
        found.append("every episode is a single state: there are no state pairs for gaifo and bco")
    return found


def from_arrays(arrays: Mapping[str, Any], ignored: Iterable[str] = ()) -> Demos:
    """Make Demos of arrays named by KEYS; one warning names the unknown keys and what the caller has `ignored`."""
    ignored = list(ignored)
    unknown = sorted({str(key) for key in arrays.keys() - set(KEYS)} | set(ignored))
    if unknown:
        warnings.warn(f"ignored unknown keys: {listed(unknown)} (known: {', '.join(KEYS)})", UserWarning, 3)
    if arrays.get("obs") is None:
        raise UserError(f"there is no 'obs' (found: {listed([*map(str, arrays), *ignored]) or 'nothing'})")
    return Demos(**{key: read_meta(arrays[key]) if key == "meta" else arrays[key] for key in KEYS if key in arrays})


def to_arrays(demos: Demos) -> dict[str, Any]:
    """The parts that the recording has, by KEYS; meta as a JSON string."""
    try:
        text = json.dumps(demos.meta, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"meta holds something that JSON cannot: {error}") from None
    return {key: getattr(demos, key) for key in KEYS if getattr(demos, key) is not None} | {"meta": text}


def read_meta(value: Any) -> Any:
    """The dict behind a JSON string (str, bytes, or an array of one such)."""
    if value is None or isinstance(value, dict):
        return value or {}
    try:
        text = np.asarray(value).item()
        if len(text) > MAX_META:
            raise UserError(f"meta holds {len(text):,} characters; the limit is {MAX_META:,}")
        meta = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise UserError("meta is not a JSON string") from None
    level = [meta]
    for _ in range(MAX_DEPTH):  # so deep that printing it would fail is of no use to anyone
        lists = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in lists for item in items]
    if level:
        raise UserError(f"meta nests more than {MAX_DEPTH} deep")
    return meta


def brief(value: Any, width: int = 60) -> str:
    """A value from a file in one line that a terminal can show, cut at `width`."""
    text = printable(str(value))
    return text if len(text) <= width else f"{text[: width - 3]}..."


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names from a file, the first few of them."""
    names = list(names)
    more = [f"and {len(names) - most} more"] * (len(names) > most)
    return ", ".join([*map(brief, names[:most]), *more])
