"""Checkpoints: everything a run needs to go on bit for bit, as arrays keyed by their path in the tree."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from onlooker.errors import UserError
from onlooker.storage import load_arrays, save_arrays

KEEP = 2  # so that there is one before the newest, should that be damaged


def flatten(tree: Any, prefix: str) -> dict[str, np.ndarray]:
    """{path: array} of a pytree."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {prefix + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def unflatten(template: Any, arrays: dict[str, np.ndarray], prefix: str, same_shapes: bool = True) -> Any:
    """The pytree that `flatten` took apart, in the shape of `template`."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    found = []
    for path, leaf in leaves:
        name = prefix + jax.tree_util.keystr(path)
        if name not in arrays:
            raise UserError(f"{name} is missing from the file: it is of another version or configuration")
        array = arrays[name]
        if array.dtype != leaf.dtype:
            raise UserError(f"{name} is of another kind in the file: {array.dtype}, not {leaf.dtype}")
        if same_shapes and array.shape != leaf.shape:
            raise UserError(f"{name} has another shape in the file: {array.shape}, not {leaf.shape}")
        found.append(array)
    return jax.tree_util.tree_unflatten(structure, found)


def save(folder: Path, iteration: int, state: Any, collector: dict[str, Any], config: dict[str, Any]) -> None:
    """Write the checkpoint after `iteration` iterations and drop the oldest."""
    folder.mkdir(exist_ok=True)
    arrays = flatten(state, "state") | flatten(collector, "collector")
    save_arrays(folder / f"{iteration:08d}.npz", arrays, {"iteration": iteration, "config": config})
    for old in newest_first(folder)[KEEP:]:
        old.unlink(missing_ok=True)


def newest_first(folder: Path) -> list[Path]:
    """The checkpoints of a run."""
    return sorted((path for path in folder.glob("[0-9]*.npz")), reverse=True)


def load(
    folder: Path, state: Any, collector: dict[str, Any], config: dict[str, Any]
) -> tuple[int, Any, dict[str, Any], list[str]]:
    """(iteration, state, collector, what was wrong with newer ones) from the newest checkpoint that is whole.

    `state` and `collector` give the structure. Without any checkpoint: iteration 0 and these two themselves.
    """
    complaints = []
    for path in newest_first(folder):
        try:
            arrays, meta = load_arrays(path)
        except UserError as failure:
            complaints.append(str(failure))
            continue
        if not isinstance(meta.get("iteration"), int):
            raise UserError(f"{path} is no checkpoint")
        if meta.get("config") != config:
            raise UserError(f"{path} belongs to another configuration than config.json beside it")
        loaded = unflatten(collector, arrays, "collector", same_shapes=False)
        return meta["iteration"], unflatten(state, arrays, "state"), loaded, complaints
    return 0, state, collector, complaints
