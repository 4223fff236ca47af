"""A trained policy as one small file that says where it lives and how it was made."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from onlooker import storage
from onlooker.demos import shipped
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.learning import networks
from onlooker.learning.networks import Actor, PolicyOptions
from onlooker.options.bounds import check_numbers
from onlooker.options.filling import fill
from onlooker.runs import checkpoint

KIND = "onlooker policy"
MOST_BYTES = 2**28  # that a policy may unpack to


class Policy(NamedTuple):
    """An actor, its options, the world it was trained in, and where it comes from."""

    actor: Actor
    options: PolicyOptions
    world: World
    meta: dict[str, Any]


def save(path: Path, policy: Policy) -> None:
    """Write a policy file."""
    meta = {
        "kind": KIND,
        "options": dataclasses.asdict(policy.options),
        "world": dataclasses.asdict(policy.world),
        "about": policy.meta,
    }
    storage.save_arrays(path, checkpoint.flatten(policy.actor, ""), meta, compress=True)


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
    obs_size, action_size = arrays[".stats.mean"].shape[0], arrays[".log_std"].shape[0]
    template = jax.eval_shape(lambda: networks.init_actor(jax.random.key(0), obs_size, action_size, options))
    actor = checkpoint.unflatten(template, arrays, "")
    if not all(np.isfinite(array).all() for array in jax.tree.leaves(actor)):
        raise UserError(f"{path} holds NaN or infinite numbers")
    return Policy(actor, options, fill(World, meta["world"], "world"), meta["about"])


def load_expert(name: str) -> Policy:
    """The policy in a file, or of a shipped expert."""
    path = Path(name)
    return load(path if path.exists() else shipped.expert_path(name))
