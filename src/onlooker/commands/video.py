"""onlooker video: film a policy, alone or beside another."""

try:
    import mujoco  # noqa: F401
except Exception as failure:  # it loads OpenGL by MUJOCO_GL, and a library that is not there fails in many ways
    import os

    from onlooker.errors import UserError

    raise UserError(f"MuJoCo can't start with MUJOCO_GL={os.environ.get('MUJOCO_GL')}") from failure

from onlooker.errors import UserError
