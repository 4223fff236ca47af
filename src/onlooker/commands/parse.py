"""Words of a command line into a dataclass, with every error in one line."""

import contextlib
import io
import re
from typing import Any, TypeVar

import tyro

from onlooker.errors import UserError

T = TypeVar("T")


def parse(cls: type[T], argv: list[str], prog: str, description: str, default: Any = None) -> T:
    """An instance of `cls` from the command line. Help goes to the screen; an error becomes a UserError."""
    said = io.StringIO()
    given = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(cls, args=argv, prog=prog, description=description, **given)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UserError(_one_line(said.getvalue(), prog)) from None


def _one_line(boxed: str, prog: str) -> str:
    """What tyro says in a box, as one line: the complaint, then what was perhaps meant."""
    lines = [re.sub(r"[│╭╮╰╯─]+", " ", line).strip() for line in boxed.splitlines()]
    lines = [line for line in lines if line]
    body = lines[1:] or lines  # the first is the box's title
    complaint = body[0] if body else "the command line can't be read"
    meant = [line.split(" ")[0].rstrip(",") for line in body if line.startswith("--")]
    hint = f"; did you mean {meant[0]}?" if "Perhaps you meant:" in body and meant else ""
    return f"{complaint}{hint} (see {prog} --help)"
