"""Demonstrations in `.npz` files. A file may come from anywhere: none is unpickled, no size believed."""

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from onlooker.demos.dataset import KEYS, Demos, check, from_arrays, to_arrays
from onlooker.errors import UserError
from onlooker.storage import atomic

MAX_BYTES = 2 * 2**30
# Recorded states shrink 2 to 20 times; deflate can reach 1000, which only a bomb needs. Small files are let be.
MAX_RATIO, SMALL_BYTES = 200, 64 * 2**20


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file of unknown origin is parsed into one line that names the file."""
    try:
        if path.exists() and not path.is_file():
            raise UserError("is a folder, not a file" if path.is_dir() else "is not a regular file")
        if path.stat().st_size == 0:
            raise UserError("is empty")
        yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (FileNotFoundError, PermissionError) as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except Exception as error:  # on hostile bytes parsers raise nearly anything: zlib.error, SyntaxError, TypeError...
        raise UserError(f"{path}: damaged, or not {kind} ({one_line(error)})") from error


def one_line(error: Exception) -> str:
    """Another library's error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def refuse_bomb(claimed: int, path: Path) -> None:
    """Refuse a file that says it unpacks to `claimed` bytes, when that is absurd."""
    status = path.stat()
    stored = 512 * getattr(status, "st_blocks", 0)  # of a sparse file, less than its size; not every system says
    file_bytes = min(status.st_size, stored or status.st_size)
    if claimed > MAX_BYTES or (claimed > SMALL_BYTES and claimed > MAX_RATIO * file_bytes):
        sizes = f"{claimed / 2**20:,.0f} MiB from {file_bytes / 2**20:,.1f} MiB"
        raise UserError(f"unpacks to {sizes}; the limits are {MAX_BYTES // 2**20:,} MiB and {MAX_RATIO} to 1")


def read_npz(path: str | Path) -> Demos:
    """Read a demonstration file. Shapes and types are checked here, values by `check`."""
    path = Path(path)
    with reading(path, "an .npz file"), zipfile.ZipFile(path) as archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            key = info.filename.removesuffix(".npy")
            if key in KEYS and key in members:
                raise UserError(f"{key!r} is there twice: which one is meant?")
            members[key] = info
        known = {key: info for key, info in members.items() if key in KEYS}
        refuse_bomb(sum(info.file_size for info in known.values()), path)
        arrays = {key: _read_array(archive, key, info) for key, info in known.items()}
        return from_arrays(arrays, ignored=members.keys() - known.keys())


def _read_array(archive: zipfile.ZipFile, key: str, info: zipfile.ZipInfo) -> np.ndarray:
    """One array of the archive. Not by np.load, which allocates whatever the array's header claims."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UserError(f"{key} is packed by a method other than deflate; write it with np.savez_compressed")
    with archive.open(info) as member:
        if np.lib.format.read_magic(member) == (1, 0):
            shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(member)
        else:  # raises on a format that is not 2.0; 3.0 is for tables with named fields only
            shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(member)
        if dtype.hasobject:
            raise UserError(f"{key} holds pickled Python objects, which are never unpickled: save plain numbers")
        size, held = math.prod(shape) * dtype.itemsize, info.file_size - member.tell()
        if size != held:
            raise UserError(f"{key} claims shape {shape} of {dtype.name}, {size} bytes, but the file holds {held}")
        # Asking for `size` bytes bounds what is unpacked, even where the archive lies about a member's size.
        data = member.read(size)
    if len(data) != size:
        raise UserError(f"{key} is cut short: {len(data)} of {size} bytes")
    return np.ndarray(shape, dtype, data, order="F" if fortran_order else "C")


def check_new(path: str | Path, overwrite: bool = False) -> None:
    """Refuse a name that `save` would refuse, before any time is spent."""
    if Path(path).suffix.lower() != ".npz":
        raise UserError(f"{path}: a demonstration file ends in .npz")
    _refuse_old(Path(path), overwrite)


def _refuse_old(path: Path, overwrite: bool) -> None:
    if os.path.exists(path) and not overwrite:  # which, unlike Path.exists, takes names of any length
        raise UserError(f"{path}: already there; choose another name, or overwrite it (--overwrite)")


@contextmanager
def new_file(path: Path, overwrite: bool) -> Iterator[IO[bytes]]:
    """A stream whose content is put in place, whole, only if the block ends well; refuses a file that is there."""
    _refuse_old(path, overwrite)
    with atomic(path) as stream:
        yield stream


def save(path: str | Path, demos: Demos, *, overwrite: bool = False) -> Path:
    """Write a compressed demonstration file, whole or not at all; refuse what `check` refuses. Returns the path."""
    path = Path(path)
    check_new(path, overwrite)
    check(demos)
    with new_file(path, overwrite) as stream:
        np.savez_compressed(stream, **to_arrays(demos))
    return path
