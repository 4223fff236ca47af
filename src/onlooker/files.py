"""Files that are there whole or not at all, and arrays in them without pickle."""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from onlooker.errors import UserError


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary neighbour that takes the place of `path` at the end: a crash leaves the old or the new."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as failure:
        raise UserError(f"can't write {path}: {failure.strerror}") from failure
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as failure:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(failure, OSError):
            raise UserError(f"can't write {path}: {failure.strerror}") from failure
        raise


def write_json(path: Path, data: Any) -> None:
    """Plain JSON, atomically."""
    with atomic(path) as stream:
        stream.write((json.dumps(data, indent=2, default=float) + "\n").encode())


def save_arrays(path: Path, arrays: Mapping[str, Any], meta: Mapping[str, Any], compress: bool = False) -> None:
    """Arrays by name and a JSON note in one `.npz`, atomically."""
    save = np.savez_compressed if compress else np.savez
    with atomic(path) as stream:
        save(
            stream, allow_pickle=False, meta=np.array(json.dumps(meta)), **{k: np.asarray(v) for k, v in arrays.items()}
        )


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_arrays` wrote. A damaged file raises UserError; nothing is ever unpickled."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return arrays, json.loads(str(arrays.pop("meta")))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError) as failure:
        raise UserError(f"{path} is damaged or no file of ours: {failure}") from failure


def sha256(path: Path) -> str:
    """Checksum of a file, in hex."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
