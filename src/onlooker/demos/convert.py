"""Recordings by their ending: tables, .npz, HDF5 (also D4RL's names); and Minari datasets."""

import importlib
import json
import math
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.demos import spreadsheets
from onlooker.demos.dataset import KEYS, Demos, brief, check, from_arrays, read_meta, to_arrays
from onlooker.demos.files import new_file, one_line, read_npz, reading, refuse_bomb, save
from onlooker.demos.spreadsheets import read_csv, write_csv
from onlooker.errors import UserError, nearest

# In the order of KEYS: obs, action, next_obs, terminated, truncated.
D4RL_NAMES = dict(zip(("observations", "actions", "next_observations", "terminals", "timeouts"), KEYS))


def _need(module: str, extra: str) -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UserError(f"{module} is not installed: pip install onlooker[{extra}]") from None


def read_hdf5(path: str | Path) -> Demos:
    """Read datasets named as in the .npz file or as in D4RL; D4RL's rewards are summed to meta["returns"]."""
    h5py, path = _need("h5py", "hdf5"), Path(path)
    with reading(path, "an HDF5 file"), h5py.File(path, "r") as file:
        if "episode_0" in file:
            raise UserError("the inside of a Minari dataset; import its folder, or minari:<id>")
        readable = {*KEYS, *D4RL_NAMES, "rewards"}
        known = {name: _own_dataset(h5py, file, name) for name in file if name in readable}
        refuse_bomb(sum(map(_unpacked, known.values())), path)
        arrays = {}
        for name, dataset in known.items():
            key = D4RL_NAMES.get(name, name)
            if key in arrays:
                raise UserError(f"{key!r} is there twice, under two names")
            if dataset.dtype.hasobject:  # libhdf5 can hang on a damaged one
                raise UserError(f"{name} is of variable length; write plain numbers, and meta as np.bytes_(text)")
            arrays[key] = dataset[()]
        rewards = arrays.pop("rewards", None)
        demos = from_arrays(arrays, [name for name in file if name not in known])
        if rewards is not None and rewards.shape == (len(demos.obs),) and np.isfinite(rewards).all():
            demos.meta.setdefault("returns", [float(rewards[start:stop].sum()) for start, stop in demos.episodes()])
        return demos


def _own_dataset(h5py: Any, file: Any, name: str) -> Any:
    """Refuse a dataset whose numbers would come out of another file: a recording must not read the user's disk."""
    own = isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(file[name], h5py.Dataset)
    if not own or file[name].external or file[name].is_virtual:
        raise UserError(f"{name} is not a plain dataset stored in this file")
    return file[name]


def _unpacked(dataset: Any) -> int:
    """How many bytes reading a dataset takes. A chunk is unpacked whole, however little of it is in the dataset."""
    return max(dataset.nbytes, math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize)


def write_hdf5(path: str | Path, demos: Demos, *, overwrite: bool = False) -> None:
    """Write datasets named as in the .npz file; meta is a JSON string."""
    h5py = _need("h5py", "hdf5")
    with new_file(Path(path), overwrite) as stream, h5py.File(stream, "w") as file:
        for key, value in to_arrays(demos).items():
            file.create_dataset(key, data=np.bytes_(value.encode()) if key == "meta" else value)


def _minari_folder(folder: Path) -> Path | None:
    """The folder that holds a Minari dataset's files, given it or the one above it."""
    return next((f for f in (folder, folder / "data") if os.path.isfile(f / "metadata.json")), None)


def from_minari(dataset: str | Path) -> Demos:
    """Read a Minari dataset from its id among the local ones, or from its folder. Nothing is downloaded."""
    minari, spaces = _need("minari", "minari"), _need("gymnasium.spaces", "minari")
    folder = _minari_folder(Path(dataset))
    try:
        if folder is None and str(dataset) not in (local := minari.list_local_datasets()):
            others = nearest(str(dataset), local) if local else ""
            raise UserError(f"no Minari dataset {str(dataset)!r} on this machine; `minari download` gets one{others}")
        folder = folder or minari.storage.get_dataset_path(str(dataset)) / "data"
        _refuse_hostile(folder)
        source = minari.MinariDataset(folder)
        if not isinstance(source.observation_space, spaces.Box) or len(source.observation_space.shape) != 1:
            shape = f"{type(source.observation_space).__name__} of shape {source.observation_space.shape}"
            raise UserError(f"{dataset}: its states are a {shape}; a flat Box is needed")
        if not isinstance(source.action_space, spaces.Box | spaces.Discrete):
            raise UserError(
                f"{dataset}: its actions are a {type(source.action_space).__name__}; Box or Discrete is needed"
            )
        episodes = [episode for episode in source.iterate_episodes() if len(episode)]
        if not episodes:
            raise UserError(f"{dataset}: no episodes")
        # Minari keeps one observation more than actions: the last one is only a successor.
        meta = {"source": f"minari:{source.spec.dataset_id}"} | ({"env": source.env_spec.id} if source.env_spec else {})
        returns = [float(episode.rewards.sum()) for episode in episodes]
        if np.isfinite(returns).all():
            meta["returns"] = returns
        return Demos(
            obs=np.concatenate([episode.observations[:-1] for episode in episodes]),
            action=np.concatenate([episode.actions.reshape(len(episode), -1) for episode in episodes]),
            next_obs=np.concatenate([episode.observations[1:] for episode in episodes]),
            terminated=np.concatenate([episode.terminations for episode in episodes]),
            truncated=np.concatenate([episode.truncations for episode in episodes]),
            lengths=np.array([len(episode) for episode in episodes]),
            meta=meta | read_meta(json.dumps(source.storage.metadata.get("onlooker", {}))),
        )
    except UserError:
        raise
    except Exception as error:  # Minari parses outside data with assertions, KeyErrors and h5py's errors
        raise UserError(f"{dataset}: not a Minari dataset that can be read ({one_line(error)})") from error


def _refuse_hostile(folder: Path) -> None:
    """Refuse a dataset that would run code, read other files, or take all memory, before Minari opens it."""
    about = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    if not all(isinstance(about.get(name), str) for name in ("observation_space", "action_space")):
        raise UserError(f"{folder}: its metadata.json tells no spaces, and to find them Minari would run what it names")
    h5py = _need("h5py", "minari")
    for path in folder.glob("*.hdf5"):
        with h5py.File(path, "r") as file:
            groups, claimed = [file], 0
            while groups:
                group = groups.pop()
                for name in group:
                    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                        raise UserError(f"{path}: {brief(name)} is stored in another place")
                    if isinstance(group[name], h5py.Group):
                        groups.append(group[name])
                    else:
                        claimed += _unpacked(_own_dataset(h5py, group, name))
            refuse_bomb(claimed, path)


def to_minari(demos: Demos, dataset_id: str, env_id: str) -> None:
    """Write a new local Minari dataset. Needs actions. Rewards are not recorded here, so they are NaN there.

    Without next_obs the successor of an episode's last state is unknown: that last action is left out.
    """
    minari, gymnasium = _need("minari", "minari"), _need("gymnasium", "minari")
    if demos.action is None:
        raise UserError("a Minari dataset needs actions, and this demonstration holds states only")
    check(demos)
    if not re.fullmatch(r"[\w/-]+-v\d+", dataset_id):
        raise UserError(f"{dataset_id!r} is no Minari id: write name-v0 or group/name-v0")
    try:
        env = gymnasium.make(env_id)
        discrete = isinstance(env.action_space, gymnasium.spaces.Discrete)
        recorded = demos.obs.shape[1:], demos.action.shape[1:]
        wanted = env.observation_space.shape, (1,) if discrete else env.action_space.shape
        if recorded != wanted:
            raise UserError(f"states and actions have shapes {recorded}, but in {env_id} {wanted}")
        action = demos.action[:, 0].astype(np.int64) if discrete else demos.action
        episodes = [_minari_episode(demos, action, start, stop) for start, stop in demos.episodes()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Minari asks for an author, a link and more, one warning each
            about = "Written by Onlooker. Rewards were not recorded: they are NaN."
            written = minari.create_dataset_from_buffers(dataset_id, episodes, env=env, description=about)
        written.storage.update_metadata({"onlooker": demos.meta})
        env.close()
    except UserError:
        raise
    except Exception as error:  # an unknown environment, a missing simulator, an id that is taken, a full disk
        raise UserError(f"cannot write {dataset_id}: {one_line(error)}") from error


def _minari_episode(demos: Demos, action: np.ndarray, start: int, stop: int) -> Any:
    """One episode as Minari keeps it: n + 1 observations, n of the rest."""
    observations = demos.obs[start:stop]
    if demos.next_obs is None:
        stop -= 1
    else:
        observations = np.concatenate([observations, demos.next_obs[stop - 1 : stop]])
        if not np.array_equal(observations[1:], demos.next_obs[start:stop]):
            raise UserError("Minari cannot hold it: a next_obs is not the next row's obs")
    if start == stop:
        raise UserError("Minari cannot hold it: an episode has one state and no successor")
    terminated, truncated = (
        np.zeros(stop - start, bool) if f is None else f[start:stop].copy() for f in (demos.terminated, demos.truncated)
    )
    truncated[-1] |= not terminated[-1]  # a recording that just stops was cut
    return _need("minari.data_collector", "minari").EpisodeBuffer(
        observations=observations,
        actions=action[start:stop],
        rewards=np.full(stop - start, np.nan),
        terminations=terminated,
        truncations=truncated,
    )


HDF5 = (".h5", ".hdf5")
READERS = {".npz": read_npz} | dict.fromkeys(spreadsheets.ENDINGS, read_csv) | dict.fromkeys(HDF5, read_hdf5)
WRITERS = {".npz": save, ".csv": write_csv, ".h5": write_hdf5, ".hdf5": write_hdf5}


def import_file(path: str | Path) -> Demos:
    """Read any recording by its ending, a Minari dataset by `minari:<id>` or by its folder."""
    if str(path).startswith("minari:") or _minari_folder(Path(path)):
        return from_minari(str(path).removeprefix("minari:"))
    if not str(path).strip():
        raise UserError("the name of the recording is empty; give a file or minari:<id>")
    ending = Path(path).suffix.lower()
    if ending not in READERS:
        hint = "; save the array with np.savez_compressed(file, obs=array)" if ending == ".npy" else ""
        raise UserError(
            f"{path}: not a recording by its ending {ending!r}{hint} (one of: minari:<id>, {', '.join(READERS)})"
        )
    return READERS[ending](path)


def export(demos: Demos, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a recording in the format of the path's ending, or to `minari:<id>` (its environment is meta["env"])."""
    ending = Path(path).suffix.lower()
    if str(path).startswith("minari:"):
        env = demos.meta.get("env")
        if not isinstance(env, str) or ":" in env:  # Gymnasium would import what stands before the colon
            raise UserError("the recording names no environment by its Gymnasium id; give it with --env")
        to_minari(demos, str(path).removeprefix("minari:"), env)
    elif ending in WRITERS:
        WRITERS[ending](path, demos, overwrite=overwrite)
    else:
        raise UserError(f"{path}: cannot write {ending!r} (one of: minari:<id>, {', '.join(WRITERS)})")
