"""Demonstrations: recorded states (and perhaps actions) of an expert. This package never imports jax.

demos = onlooker.demos.load("halfcheetah", obs_size=17)     # a shipped one, a file, or arrays
states, next_states = demos.state_pairs()
"""

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.demos import shipped
from onlooker.demos.convert import READERS, export, from_minari, import_file, read_hdf5, to_minari, write_hdf5
from onlooker.demos.dataset import Demos, check, from_arrays
from onlooker.demos.files import check_new, read_npz, save
from onlooker.demos.picture import plot
from onlooker.demos.spreadsheets import read_csv, write_csv
from onlooker.errors import UserError

__all__ = [
    "Demos",
    "check",
    "check_new",
    "export",
    "from_arrays",
    "from_minari",
    "import_file",
    "load",
    "plot",
    "read_csv",
    "read_hdf5",
    "read_npz",
    "save",
    "shipped",
    "to_minari",
    "write_csv",
    "write_hdf5",
]


def load(source: Any, *, obs_size: int | None = None, env_name: str = "the environment", quiet: bool = False) -> Demos:
    """Load and check a demonstration. What looks odd is a UserWarning, what cannot be used a UserError.

    source: a shipped name ("halfcheetah", "HalfCheetah-v5", "halfcheetah-actions", "halfcheetah-10"), a path that
    ends in .npz, .csv or .h5, `minari:<id>`, Demos, an array [T, D] or [E, T, D], or a dict of arrays with the file's
    keys. obs_size: how many numbers a state of the environment `env_name` has, if that is to be checked. quiet: what
    looks odd was said before.
    """
    where = f"{source}: " if isinstance(source, str | Path) else ""
    demos = _read(source)
    try:
        found = check(demos, obs_size, env_name)
    except UserError as error:
        raise UserError(f"{where}{error}") from None
    for warning in () if quiet else found:
        warnings.warn(f"{where}{warning}", UserWarning, stacklevel=2)
    return demos


def _read(source: Any) -> Demos:
    if isinstance(source, Demos):
        return source
    if isinstance(source, Mapping):
        return from_arrays(source)
    if isinstance(source, str | Path):
        if not str(source).strip():
            raise UserError("the name of the demonstration is empty; give a file or a shipped one's name")
        path = Path(os.path.expanduser(source))
        is_file = str(source).startswith("minari:") or path.suffix.lower() in READERS or os.path.exists(path)
        if isinstance(source, str) and (not is_file or source.lower() in shipped.names()):
            return read_npz(shipped.path(source))
        return import_file(source if str(source).startswith("minari:") else path)
    if hasattr(source, "__array__"):  # numpy's, and what turns into it
        obs = np.asarray(source)
        if obs.ndim == 3:
            return Demos(
                obs=obs.reshape(obs.shape[0] * obs.shape[1], obs.shape[2]), lengths=np.full(obs.shape[0], obs.shape[1])
            )
        return Demos(obs=obs)
    raise UserError(
        f"a demonstration is a name, a path, an array, a dict of arrays or Demos, not {type(source).__name__}"
    )
