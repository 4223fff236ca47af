"""A trained policy as one small file that says where it lives and how it was made."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import jax

from onlooker import storage
from onlooker.config import fill
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.learning import networks
from onlooker.learning.networks import Actor, PolicyOptions
from onlooker.runs import checkpoint


class Policy(NamedTuple):
    """An actor, its options, the world it was trained in, and where it comes from."""

    actor: Actor
    options: PolicyOptions
    world: World
    meta: dict[str, Any]


def save(path: Path, policy: Policy) -> None:
    """Write a policy file."""
    meta = {
        "kind": "onlooker policy",
        "options": dataclasses.asdict(policy.options),
        "world": dataclasses.asdict(policy.world),
        "about": policy.meta,
    }
    storage.save_arrays(path, checkpoint.flatten(policy.actor, ""), meta, compress=True)


def load(path: Path) -> Policy:
    """Read a policy file."""
    arrays, meta = storage.load_arrays(path)
    if meta.get("kind") != "onlooker policy":
        raise UserError(f"{path} is no policy file")
    options = fill(PolicyOptions, meta["options"], "policy")
    obs_size, action_size = arrays[".stats.mean"].shape[0], arrays[".log_std"].shape[0]
    template = networks.init_actor(jax.random.key(0), obs_size, action_size, options)
    actor = checkpoint.unflatten(template, arrays, "")
    return Policy(actor, options, fill(World, meta["world"], "world"), meta["about"])
