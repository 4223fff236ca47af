"""How much memory a pool may take, before any is taken."""

import math
import os

from onlooker.envs.engine import mujoco
from onlooker.errors import UserError

MOST_ENVS = 100_000
GIGABYTE = 1e9


def room() -> float:
    """Bytes of memory that this machine has; infinite where it does not say."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return math.inf
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def of_robot(model: mujoco.MjModel) -> int:
    """Bytes that one more copy of a robot's state takes. The arena is mostly never touched."""
    data = mujoco.MjData(model)
    return data.nbuffer + data.narena // 8


def check_room(num_envs: int, each: float) -> None:
    """Refuse more environments than make sense, or than this machine has memory for."""
    if not 1 <= num_envs <= MOST_ENVS:
        raise UserError(f"a pool has from 1 to {MOST_ENVS:,} environments, not {num_envs:,}")
    if num_envs * each > room():
        raise UserError(
            f"{num_envs:,} environments need about {num_envs * each / GIGABYTE:,.0f} GB, and this machine has "
            f"{room() / GIGABYTE:,.0f} GB; at most {int(room() / each):,} fit"
        )
