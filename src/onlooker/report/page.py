"""The page: one file with its style, script and data in it."""

import html
import json
import math
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from onlooker import __version__
from onlooker.report.entry import COLUMNS, Run
from onlooker.report.panels import Panel
from onlooker.report.tables import Table, hypertext

TEXT_COLUMNS = ("method", "variant", "env", "dynamics", "version", "state", "note", "run")


@dataclass
class Section:
    """A chapter of the page. Its figures share one legend."""

    name: str
    title: str
    text: list[str] = field(default_factory=list)
    """Paragraphs, plain."""
    tables: list[Table] = field(default_factory=list)
    figures: dict[str, list[Panel]] = field(default_factory=dict)
    """Panels by the heading above them."""
    markup: str = ""
    """HTML that comes before its tables."""


def page(sections: list[Section], runs: list[Run], headline: str, partial: bool) -> str:
    """The whole page."""
    panels = [panel for section in sections for group in section.figures.values() for panel in group]
    data = {
        "columns": list(COLUMNS),
        "numeric": [name for name in COLUMNS if name not in TEXT_COLUMNS],
        "runs": [{name: _plain(value) for name, value in run.row().items()} for run in runs],
        "configs": {run.name: run.config for run in runs if run.config},
        "panels": {panel.name: panel.to_json() for panel in panels},
    }
    contents = "".join(f'<a href="#{section.name}">{html.escape(section.title)}</a>' for section in sections)
    told = f"<p class=partial><b>Partial results.</b> {html.escape(headline)}.</p>\n" if partial else ""
    return f"""{head("report")}
<body data-partial="{str(partial).lower()}">
<h1>Onlooker: report</h1>
<p>{"" if partial else html.escape(headline) + "."} <span class=note>Written by onlooker {__version__}.</span></p>
{told}<noscript><p class=partial>Curves need JavaScript. The folder figures has them as pictures.</p></noscript>
<nav>{contents}</nav>
{"".join(map(_section, sections))}
<script type="application/json" id="data">{embedded(data)}</script>
<script>{part("charts.js")}{part("page.js")}</script>
</body>
</html>
"""


def head(title: str) -> str:
    """What a page begins with, up to its body."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Onlooker: {title}</title>
<style>{part("page.css")}</style>
</head>"""


def part(name: str) -> str:
    """A style or a script, which lie beside this module."""
    return files("onlooker.report").joinpath(name).read_text(encoding="utf-8")


def _section(section: Section) -> str:
    parts = [f'<section id="{section.name}"{" data-figures" if section.figures else ""}>']
    parts.append(f"<h2>{html.escape(section.title)}</h2>")
    parts += [f"<p>{html.escape(text)}</p>" for text in section.text]
    if section.figures:
        parts.append("<div class=legend></div>")
    for heading, panels in section.figures.items():
        parts.append(f"<h3>{html.escape(heading)}</h3>" if heading else "")
        parts.append("<div class=panels>" + "".join(map(_figure, panels)) + "</div>")
    parts += [section.markup, *map(hypertext, section.tables)]
    return "".join(parts) + "</section>\n"


def _figure(panel: Panel) -> str:
    name = panel.name
    label = html.escape(f"{panel.y_label} over {panel.x_label}: {panel.title}")
    files = " ".join(f'<a href="figures/{name}.{kind}">{kind}</a>' for kind in ("png", "svg"))
    return (
        f'<figure><svg class=chart viewBox="0 0 360 260" role=img aria-label="{label}" data-panel="{name}"></svg>'
        f"<figcaption>{files}</figcaption></figure>"
    )


def embedded(data: Any) -> str:
    """JSON that can stand in a page: no `<` that could end the script."""
    return json.dumps(_plain(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """Without nan and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
