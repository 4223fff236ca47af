"""Code of the user's own, by its import path. Only what the user typed is imported: no file names code to be run."""

import functools
import importlib
import os
import re
import sys
import types
from typing import Any

from onlooker.errors import UserError, printable
from onlooker.failures import told

_typed: set[str] = set()


def is_import_path(text: str) -> bool:
    """Whether a text is written like `module:name`, or `module:Id-v0` for a module that registers an id."""
    return re.fullmatch(r"[\w.]+:[\w./-]+", text) is not None and not text.lower().endswith(".xml")


def allow(*texts: str) -> None:
    """The user typed these, on the command line or in Python, or said --trust to the file that names them."""
    _typed.update(texts)


def check_allowed(path: str, what: str) -> None:
    """Refuse an import path that only a file names."""
    if path not in _typed:
        module = printable(path.partition(":")[0])
        raise UserError(
            f"the {what} {printable(path)!r} is code of the module {module!r}, and a file names it, not you: it is not "
            "run; add --trust if you trust that file"
        )


def module_of(path: str, what: str) -> types.ModuleType:
    """The module of `module:name`, imported; it may lie in the working folder."""
    check_allowed(path, what)
    module = path.partition(":")[0]
    if module.split(".")[0] in sys.stdlib_module_names:
        raise UserError(f"{path!r} is a part of Python itself, and no {what}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as `python -m onlooker` has it; the installed command does not
    try:
        return importlib.import_module(module)
    except Exception as failure:  # it is somebody's code: anything may happen
        raise UserError(f"can't import {module!r} for the {what} {path!r}: {told(failure)}") from failure


def from_path(path: str, what: str) -> Any:
    """The class or function that `module:name` names."""
    module, name = module_of(path, what), path.partition(":")[2]
    if not hasattr(module, name):
        raise UserError(f"can't import the {what} {path!r}: the module has no {name!r}")
    found = getattr(module, name)
    if not isinstance(found, type | types.FunctionType | functools.partial):
        raise UserError(f"{path!r} is no class or function that makes a {what}")
    return found
