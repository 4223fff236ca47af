"""Things of the user's own, by their import path."""

import importlib
import os
import sys
from typing import Any

from onlooker.errors import UserError


def from_path(path: str, what: str) -> Any:
    """What `module:name` names; the module may lie in the working folder."""
    module, _, attribute = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as `python -m onlooker` has it; the installed command does not
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as failure:
        raise UserError(f"can't import the {what} {path!r}: {failure}") from failure
