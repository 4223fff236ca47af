"""MuJoCo's stopwatch, which a tenth of the physics goes into.

MuJoCo's Python package reads the clock around each part of a physics step and adds up what they take in `MjData.timer`.
Nobody reads that while a robot learns. C code that wants no stopwatch leaves `mjcb_time` empty; from Python it can't be
emptied but through ctypes, as `mujoco.set_mjcb_time(None)` brings the usual one back.
"""

import contextlib
import ctypes
from pathlib import Path

from onlooker.envs.engine import mujoco


def stop() -> None:
    """Let it rest in this process, unless it is somebody's own. The physics stays the same to the last bit."""
    if mujoco.get_mjcb_time() is not None:
        return
    for library in Path(mujoco.__file__).parent.glob("*mujoco.*"):  # libmujoco.so.4.0.0, mujoco.dll
        with contextlib.suppress(OSError, ValueError):  # no library, or one without a stopwatch
            ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time").value = None
