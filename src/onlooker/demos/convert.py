"""Recordings in other formats: tables of numbers (csv), HDF5 (also D4RL's names) and Minari datasets."""

import importlib
import itertools
import os
import re
import warnings
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onlooker.demos.dataset import (
    KEYS,
    Demos,
    check,
    from_arrays,
    new_file,
    one_line,
    read_npz,
    reading,
    refuse_bomb,
    save,
    to_arrays,
)
from onlooker.errors import UserError, nearest

# In the order of KEYS: obs, action, next_obs, terminated, truncated.
D4RL_NAMES = dict(zip(("observations", "actions", "next_observations", "terminals", "timeouts"), KEYS))


def read_csv(path: str | Path) -> Demos:
    """Read a table with a row a state; cells apart by comma, semicolon, tab or blanks; `#` lines are skipped.

    A header names columns obs_0.., action_0.., next_obs_0.., episode, terminated, truncated. Without one, all is obs.
    """
    path = Path(path)
    with reading(path, "a table of numbers"), open(path, newline=None, encoding="utf-8-sig") as file:
        refuse_bomb(path.stat().st_size, path.stat().st_size)
        rows = _rows(file)
        first_line, names = next(rows, (0, []))
        if any(_number(cell) is not None for cell in names):  # numbers, so not a header
            rows = itertools.chain([(first_line, names)], rows)
            names = [f"obs_{column}" for column in range(len(names))]
        places, ignored = _columns(names)
        used = sorted(itertools.chain(*places.values()))
        table = _table(rows, names, used)
        arrays: dict[str, Any] = {key: table[:, np.searchsorted(used, places[key])] for key in places}
        for key in ("terminated", "truncated", "episode"):
            if key in arrays:
                arrays[key] = arrays[key][:, 0]
        if "episode" in arrays:
            arrays["lengths"] = _runs(arrays.pop("episode"))
        return from_arrays(arrays, ignored)


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Line numbers from 1, and the cells of each line that has any. The first line shows what parts the cells."""
    separator, seen = None, False
    for number, line in enumerate(lines, 1):
        text = line.strip("\n ")
        if not text or text.startswith("#"):
            continue
        if not seen:
            separator, seen = next((mark for mark in ";\t," if mark in text), None), True
        yield number, [cell.strip().strip('"') for cell in text.split(separator)]


def _number(cell: str) -> float | None:
    """The number in a cell, or None. True and false are 1 and 0."""
    try:
        return float(cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(cell.lower())


def _columns(names: list[str]) -> tuple[dict[str, list[int]], list[str]]:
    """Where the columns of each key are, in the order of their numbers; and the names that mean nothing here."""
    numbered: dict[str, dict[int, int]] = {}
    ignored = []
    for place, name in enumerate(names):
        if match := re.fullmatch(r"(obs|action|next_obs)_(\d{1,6})|(episode|terminated|truncated)", name.lower()):
            columns = numbered.setdefault(match[1] or match[3], {})
            if int(match[2] or 0) in columns:
                raise UserError(f"two columns are named {name!r}")
            columns[int(match[2] or 0)] = place
        else:
            ignored.append(name)
    if "obs" not in numbered:
        raise UserError(f"no column is named obs_0, obs_1, ... (found: {names[:8]}); rename them or drop the header")
    for key, columns in numbered.items():
        missing = sorted(set(range(len(columns))) - columns.keys())
        if missing:
            raise UserError(f"column {key}_{missing[0]} is missing: they are numbered from 0 without a gap")
    return {key: [columns[i] for i in range(len(columns))] for key, columns in numbered.items()}, ignored


def _table(rows: Iterable[tuple[int, list[str]]], names: list[str], used: list[int]) -> np.ndarray:
    """[rows, used columns] float64."""
    values = array("d")
    for line, cells in rows:
        if len(cells) != len(names):
            raise UserError(f"line {line}: {len(cells)} cells, but the first row has {len(names)}")
        for column in used:
            value = _number(cells[column])
            if value is None:
                where = f"line {line}, column {column + 1} ({names[column]})"
                raise UserError(f"{where}: {cells[column]!r} is not a number")
            values.append(value)
    return np.array(values).reshape(-1, len(used))


def _runs(labels: np.ndarray) -> np.ndarray:
    """[E] the lengths of the runs of equal labels [T]."""
    starts = np.flatnonzero(np.diff(labels, prepend=np.nan) != 0)
    names, times = np.unique(labels[starts], return_counts=True)
    if (times > 1).any():
        raise UserError(f"episode {names[times > 1][0]:g} is in two places: an episode's rows must follow each other")
    return np.diff(starts, append=len(labels))


def write_csv(path: str | Path, demos: Demos, *, overwrite: bool = False) -> None:
    """Write a comma-separated table with a header. Numbers come back exactly; metadata is not kept."""
    parts: dict[str, np.ndarray] = {"episode": np.repeat(np.arange(len(demos.lengths)), demos.lengths)}
    for key in ("obs", "action", "next_obs"):
        values = getattr(demos, key)
        parts |= {} if values is None else {f"{key}_{i}": column for i, column in enumerate(values.T)}
    for key in ("terminated", "truncated"):
        parts |= {} if getattr(demos, key) is None else {key: getattr(demos, key)}
    table = np.column_stack([column.astype(np.float64) for column in parts.values()])
    with new_file(Path(path), overwrite) as stream:
        np.savetxt(stream, table, "%.9g", ",", header=",".join(parts), comments="")  # 9 digits tell float32 apart


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
        refuse_bomb(sum(dataset.nbytes for dataset in known.values()), path.stat().st_size)
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
        source = minari.MinariDataset(folder) if folder else minari.load_dataset(str(dataset))
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
            meta=meta | source.storage.metadata.get("onlooker", {}),
        )
    except UserError:
        raise
    except Exception as error:  # Minari parses outside data with assertions, KeyErrors and h5py's errors
        raise UserError(f"{dataset}: not a Minari dataset that can be read ({one_line(error)})") from error


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


TABLES, HDF5 = (".csv", ".tsv", ".txt"), (".h5", ".hdf5")
READERS = {".npz": read_npz} | dict.fromkeys(TABLES, read_csv) | dict.fromkeys(HDF5, read_hdf5)
WRITERS = {".npz": save, ".csv": write_csv, ".h5": write_hdf5, ".hdf5": write_hdf5}


def import_file(path: str | Path) -> Demos:
    """Read any recording by its ending, a Minari dataset by `minari:<id>` or by its folder."""
    if str(path).startswith("minari:") or _minari_folder(Path(path)):
        return from_minari(str(path).removeprefix("minari:"))
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
        to_minari(demos, str(path).removeprefix("minari:"), demos.meta.get("env", ""))
    elif ending in WRITERS:
        WRITERS[ending](path, demos, overwrite=overwrite)
    else:
        raise UserError(f"{path}: cannot write {ending!r} (one of: minari:<id>, {', '.join(WRITERS)})")
