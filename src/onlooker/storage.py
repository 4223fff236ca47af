"""Files that are there whole or not at all, and arrays in them without pickle."""

import hashlib
import io
import json
import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from onlooker.errors import UserError, printable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

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


def locked(path: Path) -> IO | None:
    """A lock file that is held until the stream is closed; None while another process holds it.

    Where the system has no such locks, everybody gets it.
    """
    stream = Path(path).open("a")  # noqa: SIM115  # held by the caller; whatever the name leads to stays whole
    try:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    except OSError:  # a file system without locks
        pass
    return stream


def write_json(path: Path, data: Any) -> None:
    """Strict JSON, atomically. It has no word for NaN or infinity: those become null."""
    with atomic(path) as stream:
        stream.write((json.dumps(_strict(data), indent=2, allow_nan=False) + "\n").encode())


def _strict(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _strict(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_strict(value) for value in data]
    if data is None or isinstance(data, str | bool | int):
        return data
    number = float(data)
    return number if math.isfinite(number) else None


def parse_json(text: str | bytes) -> Any:
    """What a JSON text holds. Anything wrong with it is a ValueError, however deep it is nested."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def save_arrays(path: Path, arrays: Mapping[str, Any], meta: Mapping[str, Any], compress: bool = False) -> None:
    """Arrays by name and a JSON note in one `.npz`, atomically, with a checksum of the whole behind it."""
    packed = io.BytesIO()
    save = np.savez_compressed if compress else np.savez
    save(packed, allow_pickle=False, meta=np.array(json.dumps(meta)), **{k: np.asarray(v) for k, v in arrays.items()})
    with atomic(path) as stream:
        stream.write(packed.getbuffer())
        stream.write(SEAL + hashlib.sha256(packed.getbuffer()).hexdigest().encode())


def load_arrays(path: Path, most_bytes: int = 2**32) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save_arrays` wrote. A damaged file raises UserError, as does one that unpacks to more than `most_bytes`;
    nothing is ever unpickled."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise UserError(f"{path} is no file")
        if Path(path).stat().st_size > most_bytes:
            raise UserError(f"{path} is too large: {Path(path).stat().st_size:,} bytes, and {most_bytes:,} are allowed")
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except OSError as failure:
        raise UserError(f"can't read {path}: {failure.strerror}") from failure
    packed, seal = data[:-SEAL_SIZE], data[-SEAL_SIZE:]
    if seal != SEAL + hashlib.sha256(packed).hexdigest().encode():
        raise UserError(f"{path} is damaged or no file of ours: its checksum is wrong")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > most_bytes:
            raise UserError(f"{path} unpacks to {unpacked:,} bytes, and {most_bytes:,} are allowed")
        with np.load(io.BytesIO(packed), allow_pickle=False) as members:
            arrays = {name: members[name] for name in members.files}
        meta = parse_json(str(arrays.pop("meta")))
    except (ValueError, KeyError, zipfile.BadZipFile, zlib.error, EOFError, MemoryError, OSError) as failure:
        raise UserError(f"{path} is no file of ours: {printable(str(failure))[:200]}") from failure
    if not isinstance(meta, dict):
        raise UserError(f"{path} is no file of ours: its note is no JSON object")
    return arrays, meta


def sha256(path: Path) -> str:
    """Checksum of a file, in hex."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
