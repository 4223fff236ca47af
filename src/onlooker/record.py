"""Recorded episodes as a demonstration."""

from typing import Any

import numpy as np

from onlooker import __version__
from onlooker.config import World
from onlooker.demos import Demos
from onlooker.evaluation import Recording


def to_demos(recordings: list[Recording], world: World, made: dict[str, Any]) -> Demos:
    """Episodes one after the other, with where they come from. Their successors are left out: the next row has them."""
    ends = np.cumsum([len(recording.reward) for recording in recordings]) - 1
    terminated, truncated = np.zeros(ends[-1] + 1, bool), np.zeros(ends[-1] + 1, bool)
    for end, recording in zip(ends, recordings):
        terminated[end], truncated[end] = recording.terminated, not recording.terminated
    returns = [recording.ret for recording in recordings]
    return Demos(
        obs=np.concatenate([recording.obs for recording in recordings]),
        action=np.concatenate([recording.action for recording in recordings]),
        terminated=terminated,
        truncated=truncated,
        lengths=np.diff(ends, prepend=-1),
        meta={
            "env": world.env,
            "env_kwargs": world.env_kwargs,
            "dynamics": world.resolve().changes,
            "returns": returns,
            "policy": made,
            "recorded_by": f"onlooker {__version__}",
        },
    )
