"""What only the site has: `<!-- site: NAME -->` in a page is filled in. A code host shows nothing there.

So the pages stay plain Markdown, and what is made from the code is never written down a second time.
"""

import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

import option_tables
from sphinx.application import Sphinx

import onlooker

# Links out of docs/, and the pages that the site has for them.
PAGES = {"../CHANGELOG.md": "changelog.md", "../CONTRIBUTING.md": "contributing.md"}
MODULES = ["onlooker.demos", "onlooker.report", "onlooker.parts"]

CURVES = """\
<p>The report on these runs: <a href="report/index.html#curves">curves to point at</a>, tables and every config:</p>

<iframe src="report/index.html" title="The report on these runs" loading="lazy"></iframe>
"""


def tree(page: str) -> str:
    """The index's lists of links, a list under each heading, as the tree that the sidebar shows."""
    found = ""
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        links = re.findall(r"^- .*?\]\((.+?)\.md\)", section, re.M)
        caption = section.splitlines()[0]
        found += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *links, "```", ""])
    return found


def reference(page: str) -> str:
    """Every public name of the package, then those of its public modules, from docstrings and types."""
    names = [name for name in onlooker.__all__ if not name.startswith("_") and f"onlooker.{name}" not in MODULES]
    public = {f"onlooker.{name}": getattr(onlooker, name) for name in names}
    made = {f"{cls.__module__}.{cls.__qualname__}": cls for thing in public.values() for cls in _made_by(thing)}
    classes = {path: thing for path, thing in public.items() if inspect.isclass(thing)}
    classes |= {path: cls for path, cls in made.items() if cls not in classes.values()}
    lines = [line for path in public if path not in classes for line in (f".. autofunction:: {path}", "")]
    lines += [
        line
        for path in classes
        for line in (f".. autoclass:: {path}", "   :members:", "   :special-members: __call__", "")
    ]
    sections = ["## onlooker", *_rst(lines)]
    for module in map(importlib.import_module, MODULES):
        lines = [f".. automodule:: {module.__name__}", "   :members:", "   :undoc-members:", ""]
        for name in module.__all__:
            if typing.get_origin(getattr(module, name)) is not None:  # a name for a type, which automodule passes over
                lines += [f".. autodata:: {module.__name__}.{name}", ""]
        sections += [f"## {module.__name__}", *_rst(lines)]
    return "\n".join(sections)


def _rst(lines: list[str]) -> list[str]:
    return ["```{eval-rst}", *lines, "```", ""]


def _made_by(thing: Any) -> Iterator[type]:
    """The class of ours that a function returns, if it does."""
    made = typing.get_type_hints(thing).get("return") if inspect.isfunction(thing) else None
    if inspect.isclass(made) and made.__module__.startswith("onlooker"):
        yield made


FILLED: dict[str, Callable[[str], str]] = {
    "tree": tree,
    "reference": reference,
    "options": lambda page: option_tables.markdown(),
    "curves": lambda page: CURVES,
}


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """A page as the site has it."""
    page = source[0]
    for outside, inside in PAGES.items():
        page = page.replace(f"({outside})", f"({inside})")
    source[0], markers = re.subn(r"<!-- site: (\w+) -->", lambda marker: FILLED[marker[1]](page), page)
    if markers:
        app.env.note_reread()  # the page may be as it was, and the code another


def setup(app: Sphinx) -> dict[str, bool]:
    """Read every page through `fill_in`."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True}
