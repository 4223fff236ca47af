"""A trained policy as one small file that says where it lives and how it was made."""

import dataclasses
from itertools import pairwise
from pathlib import Path

import numpy as np

from onlooker import storage
from onlooker.demos import shipped
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.options.bounds import check_numbers
from onlooker.options.filling import fill
from onlooker.policies.actor import Actor, PolicyOptions, Stats
from onlooker.policies.policy import Policy

KIND = "onlooker policy"
MOST_BYTES = 2**28  # that a policy may unpack to


def save(path: Path, policy: Policy) -> None:
    """Write a policy file."""
    meta = {
        "kind": KIND,
        "options": dataclasses.asdict(policy.options),
        "world": dataclasses.asdict(policy.world),
        "about": policy.meta,
    }
    bounds = {} if policy.bounds is None else dict(zip((".low", ".high"), policy.bounds))
    storage.save_arrays(path, numbers(policy.actor) | bounds, meta, compress=True)


def numbers(actor: Actor) -> dict[str, np.ndarray]:
    """The arrays of an actor, by the names that files have for them."""
    layers = {f".net[{i}]['{name}']": layer[name] for i, layer in enumerate(actor.net) for name in ("b", "w")}
    stats = {f".stats.{name}": value for name, value in actor.stats._asdict().items()}
    return {name: np.asarray(value) for name, value in (layers | {".log_std": actor.log_std} | stats).items()}


def load(path: Path) -> Policy:
    """Read a policy file. Its numbers must be what its options say; nothing in it is run."""
    arrays, meta = storage.load_arrays(path, MOST_BYTES)
    if meta.get("kind") != KIND:
        raise UserError(f"{path} is no policy file")
    missing = [name for name in ("options", "world", "about") if not isinstance(meta.get(name), dict)]
    missing += [name for name in (".stats.mean", ".log_std") if getattr(arrays.get(name), "ndim", 0) != 1]
    if missing:
        raise UserError(f"{path} is no whole policy file: it has no {missing[0]} that can be read")
    options = fill(PolicyOptions, meta["options"], "policy")
    check_numbers(options, "policy.")
    actor, bounds = _actor(arrays, options), _bounds(arrays)
    if not all(np.isfinite(array).all() for array in numbers(actor).values()):
        raise UserError(f"{path} holds NaN or infinite numbers")
    return Policy(actor, options, fill(World, meta["world"], "world"), meta["about"], bounds)


def _actor(arrays: dict[str, np.ndarray], options: PolicyOptions) -> Actor:
    obs, action = arrays[".stats.mean"].shape[0], arrays[".log_std"].shape[0]
    sizes = pairwise((obs, *options.hidden, action))
    net = [
        {
            "w": _array(arrays, f".net[{i}]['w']", (size, then)),
            "b": _array(arrays, f".net[{i}]['b']", (then,)),
        }
        for i, (size, then) in enumerate(sizes)
    ]
    shapes = {"mean": (obs,), "var": (obs,), "seen": ()}
    stats = Stats(**{name: _array(arrays, f".stats.{name}", shape) for name, shape in shapes.items()})
    return Actor(net, _array(arrays, ".log_std", (action,)), stats)


def _bounds(arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    if not {".low", ".high"} & arrays.keys():
        return None
    low, high = (_array(arrays, name, arrays[".log_std"].shape) for name in (".low", ".high"))
    if not (low < high).all():
        raise UserError("the lowest action of the policy file is not below its highest")
    return low, high


def _array(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name not in arrays:
        raise UserError(f"{name} is missing from the file: it is of another version or configuration")
    array = arrays[name]
    if array.dtype != np.float32:
        raise UserError(f"{name} is of another kind in the file: {array.dtype}, not float32")
    if array.shape != shape:
        raise UserError(f"{name} has another shape in the file: {array.shape}, not {shape}")
    return array


def load_expert(name: str) -> Policy:
    """The policy in a file, or of a shipped expert."""
    path = Path(name)
    return load(path if path.exists() else shipped.expert_path(name))
