"""Our docstrings are plain text with `code` in it; Sphinx reads reStructuredText."""

import re
from typing import Any

from sphinx.application import Sphinx


def translate(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """One docstring, in place."""
    text = "\n".join(lines)
    if what == "data" or text.startswith("Alias for field number"):
        text = ""  # Python's words for a name of a type, or for a field of a NamedTuple, that has none of ours
    about, _, example = text.partition("\n\n") if what == "module" else (text, "", "")
    parts = re.split(r"(`[^`]+`)", about)  # every other one is code
    parts[::2] = [re.sub(r"[\\*|]|_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [f"`{part}`" for part in parts[1::2]]
    lines[:] = "".join(parts).splitlines()
    if example.strip():
        lines += ["", ".. code-block:: python", "", *(f"   {line}" for line in example.splitlines()), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Pass every docstring through `translate`."""
    app.connect("autodoc-process-docstring", translate)
    return {"parallel_read_safe": True}
