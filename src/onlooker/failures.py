"""An error inside somebody else's code, in one line that says where in it that happened."""

import sysconfig
import traceback
from pathlib import Path

from onlooker.errors import printable

OURS = Path(__file__).resolve().parent
INSTALLED = tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")})


def first_line(failure: BaseException) -> str:
    """What an exception says, without its details."""
    return printable(next(iter(str(failure).strip().splitlines()), type(failure).__name__).strip())


def told(failure: BaseException) -> str:
    """Kind, message and place: `ValueError: no such gait (my_env.py:31)`."""
    said = printable(" ".join(str(failure).split()))
    return f"{type(failure).__name__}: {said}{place(failure)}"


def place(failure: BaseException) -> str:
    """The last line of the user's own code on the way to an error, as ` (my_env.py:31)`; nothing without one."""
    for frame in reversed(traceback.extract_tb(failure.__traceback__)):
        path = Path(frame.filename)
        if not path.is_file():  # as <frozen importlib>
            continue
        within = path.resolve().parents
        if OURS in within or any(folder in within for folder in INSTALLED):
            continue
        shown = path.resolve().relative_to(Path.cwd()) if Path.cwd() in within else path
        return f" ({printable(str(shown))}:{frame.lineno})"
    return ""
