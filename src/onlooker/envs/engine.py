"""MuJoCo, or one line that says why it can't start."""

import os

from onlooker.errors import UserError

try:
    import mujoco
except Exception as failure:  # it loads the OpenGL that MUJOCO_GL names, and fails in many ways where that is missing
    raise UserError(
        f"MuJoCo can't start with MUJOCO_GL={os.environ.get('MUJOCO_GL')!r} ({failure}); leave it unset, "
        "or install what it names (Debian, for egl: libegl1 libgl1-mesa-dri)"
    ) from failure

__all__ = ["mujoco"]
