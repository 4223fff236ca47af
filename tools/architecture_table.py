"""Bring the list of modules in docs/architecture.md up to date: a line each, the first of its docstring.

python tools/architecture_table.py
"""

import ast
from pathlib import Path

HERE = Path(__file__).parent.parent
PAGE = HERE / "docs" / "architecture.md"
SOURCE = HERE / "src" / "onlooker"
BEGIN, END = "<!-- modules -->\n", "<!-- end of modules -->\n"

# The rooms in the order of a reader's way through the house.
ROOMS = {
    "": "One run, and the doors to it",
    "commands": "The command line",
    "methods": "The methods",
    "learning": "What methods learn with",
    "policies": "A trained policy, and its files",
    "envs": "Worlds",
    "demos": "Demonstrations",
    "runs": "What is on disk",
    "grid": "Many runs",
    "report": "The report",
    "options": "Options",
}


def modules() -> str:
    """The list, as Markdown."""
    lines = []
    for room, title in ROOMS.items():
        lines += [f"\n### {title}: `{f'{room}/' if room else 'src/onlooker/'}`\n", "| module | idea |", "|---|---|"]
        for path in sorted((SOURCE / room).glob("*.py")):
            idea = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].replace("\n", " ")
            if path.name != "__init__.py":
                lines.append(f"| `{path.stem}` | {idea.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n\n"


def brought_up_to_date(page: str) -> str:
    """The page with today's list."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + modules() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(brought_up_to_date(PAGE.read_text()))
