"""The demonstrations that come with the package: `assets/<name>.npz`, each with its checksum in SHA256SUMS."""

import hashlib
import importlib.resources
import re
from pathlib import Path

from onlooker.errors import UserError, nearest

ROBOTS = ("ant", "halfcheetah", "hopper", "walker2d")
EXPERT = "-expert"  # weights of the policies that were recorded: an asset, not a demonstration


def names(folder: Path | None = None) -> list[str]:
    """The names that `load` takes: `<robot>`, `<robot>-actions`, `<robot>-10`. Empty where no assets are installed."""
    stems = (Path(file).stem for file in _checksums(folder or _assets()) if file.endswith(".npz"))
    return sorted(stem for stem in stems if not stem.endswith(EXPERT))


def robot_of(env_id: str) -> str | None:
    """The robot of an environment id, `HalfCheetah-v5` -> `halfcheetah`; None for one that is not shipped."""
    robot = re.sub(r"-v\d+$", "", env_id).lower()
    return robot if robot in ROBOTS else None


def path(name: str, folder: Path | None = None) -> Path:
    """The file of a demonstration (or of `<robot>-expert`), after its checksum was found right."""
    folder = folder or _assets()
    sums = _checksums(folder)
    if not sums:
        raise UserError(
            f"no {name!r}: this installation holds no demonstrations; install onlooker anew, or give a file"
        )
    file = f"{robot_of(name) or name.lower()}.npz"
    if file not in sums:
        raise UserError(f"{name!r} is neither a file nor a shipped demonstration{nearest(name, names(folder))}")
    try:
        digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"the shipped file {file} cannot be read ({error.strerror}): install onlooker anew") from None
    if digest != sums[file]:
        raise UserError(f"the shipped file {file} is damaged (wrong SHA-256): install onlooker anew")
    return folder / file


def expert_path(name: str, folder: Path | None = None) -> Path:
    """The file of a shipped expert's policy, `halfcheetah` or `HalfCheetah-v5`."""
    robot = robot_of(name)
    if robot is None:
        raise UserError(f"there is no shipped expert {name!r}{nearest(name, ROBOTS)}")
    return path(f"{robot}{EXPERT}", folder)


def _assets() -> Path:
    return Path(str(importlib.resources.files("onlooker") / "assets"))


def _checksums(folder: Path) -> dict[str, str]:
    """SHA256SUMS as {file: hex digest}; empty if it is not there."""
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = (re.fullmatch(r"([0-9a-f]{64})  (\S+)", line.strip()) for line in lines)
    return {match[2]: match[1] for match in found if match}
