"""Files that are there whole or not at all, and arrays in them without pickle."""

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from onlooker.errors import UserError

SEAL = b"sha256:"  # then 64 hex digits; what reads `.npz` files passes over it
SEAL_SIZE = len(SEAL) + 64


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
    """Arrays by name and a JSON note in one `.npz`, atomically, with a checksum of the whole behind it."""
    packed = io.BytesIO()
    save = np.savez_compressed if compress else np.savez
    save(packed, allow_pickle=False, meta=np.array(json.dumps(meta)), **{k: np.asarray(v) for k, v in arrays.items()})
    with atomic(path) as stream:
        stream.write(packed.getbuffer())
        stream.write(SEAL + hashlib.sha256(packed.getbuffer()).hexdigest().encode())


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_arrays` wrote. A damaged file raises UserError; nothing is ever unpickled."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except OSError as failure:
        raise UserError(f"can't read {path}: {failure.strerror}") from failure
    packed, seal = data[:-SEAL_SIZE], data[-SEAL_SIZE:]
    if seal != SEAL + hashlib.sha256(packed).hexdigest().encode():
        raise UserError(f"{path} is damaged or no file of ours: its checksum is wrong")
    with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return arrays, json.loads(str(arrays.pop("meta")))


def sha256(path: Path) -> str:
    """Checksum of a file, in hex."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
