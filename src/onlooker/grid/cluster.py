"""Ray, started on this machine or joined where it runs. What can't be joined is said within half a minute."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from onlooker.errors import UserError, printable
from onlooker.grid import hours

KNOCK_SECONDS = 5.0  # for somebody to open the door
JOIN_SECONDS = 25.0  # for Ray to answer behind it
TOKEN = (
    "it asks for a token, and got none or a wrong one: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token or "
    "RAY_AUTH_TOKEN_PATH to a file that holds it"
)
# Ray's own patience has no end that can be set, and it writes its complaints past Python: try it in a process apart.
TRY = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
except BaseException as failure:
    print(f"{type(failure).__name__}: {failure}")
    sys.exit(1)
"""


def ray() -> Any:
    """The module, if it is installed."""
    try:
        import ray
    except ImportError:
        raise UserError("grids run on Ray, which is not installed: pip install 'onlooker[grid]'") from None
    return ray


def check(address: str) -> None:
    """Whether there is a Ray cluster that lets us in; else a UserError says why not."""
    if address != "auto":
        _knock(address)
    # Modules of the working folder are not Ray's; and twenty tries are too many.
    environment = {"RAY_NUM_REDIS_GET_RETRIES": "5"} | os.environ | {"PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", TRY, address]
    try:
        tried = subprocess.run(command, env=environment, capture_output=True, timeout=JOIN_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        reason, log = f"no Ray answers there within {JOIN_SECONDS:.0f} seconds", late.stderr or b""
    else:
        reason, log = (tried.stdout.strip() or tried.stderr).decode(errors="replace"), tried.stderr
        if not tried.returncode:
            return
    raise _refusal(address, TOKEN if b"Unauthenticated" in log else reason)


def _knock(address: str) -> None:
    """Whether anybody listens at HOST:PORT."""
    found = re.fullmatch(r"(?:ray://)?(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})", address)
    if found is None or not 0 < int(found[2]) < 2**16:
        raise UserError(f"--address must be HOST:PORT, ray://HOST:PORT or auto, not {printable(address)!r}")
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), KNOCK_SECONDS).close()
    except (OSError, UnicodeError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
        raise _refusal(address, f"nobody listens there ({reason})") from None


@contextlib.contextmanager
def running(jobs: int, address: str) -> Iterator[Any]:
    """Ray, joined at an address or started on this machine for as long as the grid runs."""
    module = ray()
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    # Checking the cells has started jax. Ray starts programs, not copies of this process, so jax need not worry.
    warnings.filterwarnings("ignore", message="os.fork")
    try:
        if address:
            module.init(address=address, **quiet)
        else:
            small = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
            module.init(address="local", num_cpus=jobs or hours.cores(), **small, **quiet)
    except Exception as failure:
        raise _refusal(address, f"{type(failure).__name__}: {failure}") from failure
    try:
        yield module
    finally:
        module.shutdown()


def _refusal(address: str, reason: str) -> UserError:
    if "AuthenticationError" in reason:
        reason = TOKEN
    first = next((line.strip() for line in reason.splitlines() if line.strip()), "no reason was given")
    return UserError(printable(f"can't {f'join Ray at {address}' if address else 'start Ray'}: {first[:500]}"))
