"""Words of a command line into a dataclass, with every error in one line."""

import contextlib
import io
import re
from typing import Any, TypeVar

import tyro

from onlooker.errors import UserError

T = TypeVar("T")
UNFIT = re.compile(r"no type matching (.+) could be instantiated from \[(.*)\]\.?")
UNREAD = re.compile(r"Could not find valid parse for arguments: \[(.*)\]\.?")
KINDS = {"{None}": "None", "FLOAT": "a number", "INT": "a whole number"}


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
    """What tyro says in a box, as one line: the complaint, then what was perhaps meant.

    Below its title, the box has sections between rules; the complaint is the first, broken into lines to fit.
    """
    sections: list[list[str]] = [[]]
    for line in boxed.splitlines()[1:]:
        text = line.strip("│╭╮╰╯| ")
        if not text.strip("─-"):
            sections.append([])
        else:
            sections[-1].append(text)
    filled = [section for section in sections if section]
    complaint = " ".join(filled[0]) if filled else "the command line can't be read"
    meant = [line for section in filled if section[0].startswith("Perhaps you meant") for line in section[1:]]
    hint = f"; did you mean {meant[0].split()[0].rstrip(',')}?" if meant else ""
    return f"{_plainly(complaint)}{hint} (see {prog} --help)"


def _plainly(complaint: str) -> str:
    """The same in words for people who do not know how the command line is made."""
    option, parsing, why = complaint.removeprefix("Error parsing ").partition(": ")
    if not parsing or option == complaint:
        return complaint
    if unfit := UNFIT.fullmatch(why):
        kinds = (KINDS.get(kind, kind) for kind in reversed(unfit[1].split("|")))
        return f"{option} must be {' or '.join(kinds)}, not {unfit[2]}"
    if unread := UNREAD.fullmatch(why):
        return f"{option} can't be read from {unread[1]}"
    return f"{option}: {why}"
