"""Compiled programs are kept from run to run: the second start of the same kind of run does without XLA's compiler.

They lie in the user's cache folder. ONLOOKER_CACHE=FOLDER names another one, ONLOOKER_CACHE=off keeps nothing.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import time
import warnings
from pathlib import Path

import jax

VARIABLE = "ONLOOKER_CACHE"
MOST_BYTES = 2**28  # that are kept; a kind of run takes about 1 MB
OLDEST = 30 * 86400  # seconds: a file that a crash left torn is passed over by JAX, and goes with the old ones


def keep_compiled() -> None:
    """Let JAX keep what it compiles from now on, unless its user has said where to, or not to."""
    # A cache that can't be read or written costs time, and nothing else.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")
    given = os.environ.get(VARIABLE, "")
    if _told() is not None or given.lower() in ("off", "0", "no", "false"):
        return
    folder = (Path(given) if given else _cache_folder()) / _processor()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        prune(folder)
    except OSError:  # no home, or one that can't be written to
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def give_back_memory() -> None:
    """Return what compiling freed to the system: some hundred MB that the C library would keep. Does nothing where it
    can't be asked to."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _told() -> str | None:
    return jax.config.values["jax_compilation_cache_dir"]


def prune(folder: Path, most: int = MOST_BYTES) -> None:
    """Drop what is old, and the oldest of the rest until no more than `most` bytes are left."""
    files = sorted(((path.stat(), path) for path in folder.iterdir()), key=lambda file: file[0].st_mtime, reverse=True)
    kept = 0
    for about, path in files:
        kept += about.st_size
        if kept > most or about.st_mtime < time.time() - OLDEST:
            path.unlink(missing_ok=True)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "onlooker" / "compiled"


def _processor() -> str:
    """A name for this kind of processor: a home may be shared by machines that can't run each other's programs."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        about = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        about = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {about}".encode()).hexdigest()[:16]
