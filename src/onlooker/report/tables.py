"""A table once, and how it is written: Markdown, CSV, HTML."""

import csv
import html
import io
import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

PAPER = "In brackets: the paper's. Ours is green where it is above, red where it is below, brown where it is level. "


class Beside(NamedTuple):
    """A number of ours beside the paper's."""

    ours: float
    paper: float | None
    verdict: str


@dataclass(frozen=True)
class Column:
    """How a column is called and written: text, cell, count, steps, return, difference, share or number;
    `interval` holds two numbers, `beside` ours and the paper's."""

    title: str
    kind: str = "text"
    of: str = "return"
    """What an interval is of."""


@dataclass(frozen=True)
class Table:
    """Rows under columns."""

    name: str
    title: str
    columns: list[Column]
    rows: list[list[Any]]
    note: str = ""


def shown(value: Any, kind: str, of: str = "return") -> str:
    """A value as a reader sees it: nothing where there can be none, a dash where one is missing."""
    if isinstance(value, Beside):
        beside = "" if value.paper is None else f" (paper {shown(value.paper, 'return')}, {value.verdict})"
        return shown(value.ours, "return") + beside
    if isinstance(value, tuple):
        return "-" if not all(map(math.isfinite, value)) else f"{shown(value[0], of)} to {shown(value[1], of)}"
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return "-"
    if kind in ("return", "count"):
        return f"{value:,.0f}".replace("-0", "0") if abs(value) < 0.5 else f"{value:,.0f}"
    if kind == "steps":
        return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
    if kind == "difference":
        return f"{value:+,.0f}"
    if kind == "share":
        return f"{value:.2f}".replace("-0.00", "0.00")
    return f"{value:.4g}" if kind == "number" else str(value)


def markdown(table: Table) -> str:
    """For a page in a repository."""
    lines = [f"### {table.title}", ""]
    lines.append("| " + " | ".join(_plain(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join("---" if column.kind == "text" else "---:" for column in table.columns) + "|")
    for row in table.rows:
        cells = (shown(value, column.kind, column.of) for value, column in zip(row, table.columns))
        lines.append("| " + " | ".join(_plain(cell) for cell in cells) + " |")
    return "\n".join(lines + (["", table.note] if table.note else [])) + "\n"


def comma_separated(table: Table) -> str:
    """For other programs: all digits, and nothing where there is nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(name for column in table.columns for name in _csv_names(column))
    for row in table.rows:
        writer.writerow(cell for value, column in zip(row, table.columns) for cell in _csv_cells(value, column))
    return text.getvalue()


def hypertext(table: Table) -> str:
    """For the page. Numbers carry all their digits in `data-value`."""
    head = "".join(f"<th{_side(column)}>{html.escape(column.title)}</th>" for column in table.columns)
    body = []
    block = 1 if len({row[0] for row in table.rows}) == 1 and table.columns[1].kind == "text" else 0
    firsts = [row[block] for row in table.rows]
    blocks = len(set(firsts)) < len(firsts)
    for above, row in zip([None, *firsts], table.rows):
        cells = []
        for value, column in zip(row, table.columns):
            number = value.ours if isinstance(value, Beside) else value
            exact = isinstance(number, int | float) and math.isfinite(number)
            data = f' data-value="{number!r}"' if exact else ""
            mark = value.verdict if isinstance(value, Beside) else value
            told = f' data-verdict="{mark}"' if mark in ("above", "level", "below", "not run") else ""
            text = html.escape(shown(number, "return" if column.kind == "beside" else column.kind, column.of))
            if isinstance(value, Beside) and value.paper is not None:
                text += f' <small title="{value.verdict}">({shown(value.paper, "return")})</small>'
            cells.append(f"<td{_side(column)}{data}{told}>{text}</td>")
        rule = " class=first" if blocks and row[block] != above else ""
        body.append(f"<tr{rule}>{''.join(cells)}</tr>")
    beside = PAPER if any(column.kind == "beside" for column in table.columns) else ""
    note = f"<p class=note>{html.escape(beside + table.note)}</p>" if beside + table.note else ""
    return (
        f'<h3>{html.escape(table.title)}</h3><div class=wide><table id="{html.escape(table.name)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>{note}\n"
    )


def _plain(text: str) -> str:
    """Without what Markdown would take for its own."""
    return re.sub(r"([|<*`\[\]])", r"\\\1", text)


def _side(column: Column) -> str:
    return "" if column.kind == "text" else " class=n"


def _csv_names(column: Column) -> list[str]:
    if column.kind == "interval":
        return [f"{column.title} low", f"{column.title} high"]
    return [column.title, f"{column.title} (paper)"] if column.kind == "beside" else [column.title]


def _csv_cells(value: Any, column: Column) -> list[Any]:
    if column.kind == "beside":
        return [_bare(value.ours), _bare(value.paper)] if isinstance(value, Beside) else ["", ""]
    if column.kind == "interval":
        return [_bare(part) for part in value or (None, None)]
    return [_bare(value)]


def _bare(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and not math.isfinite(value)) else value
