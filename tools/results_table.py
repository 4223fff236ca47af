"""The numbers of README.md and docs/results.md, filled in from packed runs.

    python tools/results_table.py

A page says what it wants in a comment, `<!-- filled: NAME of FOLDER -->`; what lies between it and `<!-- end -->` is
written anew. The names are those of WRITERS below, the folders those of results/.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from onlooker.report import load
from onlooker.report.attainable import beside_oracle
from onlooker.report.comparisons import dynamics_tables, probabilities, summary
from onlooker.report.paper import RETURNS, verdict
from onlooker.report.sooner import how_soon, steps_until
from onlooker.report.tables import Column, Table, markdown, shown
from onlooker.report.variants import METHODS as NAMES
from onlooker.report.variants import Group, groups, settings
from onlooker.report.world_names import robot

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/results.md")
METHODS = ("i2l", "gail-s", "gaifo", "bco", "ppo", "transfer")
RIVALS = ("gail-s", "gaifo")  # what the paper compares I2L with
RELEASE = "release"  # the authors' released choices: runs that grids/paper.toml labels so
MARK = re.compile(r"<!-- filled: ([\w-]+) of ([\w-]+) -->.*?<!-- end -->", re.DOTALL)
MUCH = 1.3  # times the paper's return
SOON = 1_000_000  # steps


def seeds(found: list[Group]) -> str:
    """I2L over its seeds, beside the paper."""
    wanted = ("robot", "seeds", "return", "paper", "verdict", "deviation", "IQM", "95% interval", "eval_return")
    columns: list[Column] = [Column("dynamics")]
    rows = []
    for table in dynamics_tables(_i2l(found)):
        places = [[column.title for column in table.columns].index(title) for title in wanted]
        ours = [row for row in table.rows if row[1] == "I2L"]
        rows += [[table.name.removeprefix("dynamics-"), *(row[place] for place in places)] for row in ours]
        columns = [Column("dynamics"), *(table.columns[place] for place in places)]
    return _bare(Table("seeds", "", columns, rows))


def glance(found: list[Group]) -> str:
    """I2L alone, robots down and dynamics across: its mean return and the paper's, bold where it is below."""
    returns = {(robot(group.env), group.dynamics): group.values("return") for group in _i2l(found)}
    rows = []
    for name in dict.fromkeys(name for name, _ in returns):
        cells = []
        for dynamics in RETURNS:
            ours, theirs = returns[name, dynamics], RETURNS[dynamics]["i2l"][name]
            bold = "**" * (verdict(ours, theirs) == "below")
            cells.append(f"{bold}{shown(float(ours.mean()), 'return')}{bold} ({shown(theirs, 'return')})")
        rows.append(f"| {' | '.join([name, *cells])} |")
    head = ["", *(name.replace("-", " ") for name in RETURNS)]
    return "\n".join([f"|{' | '.join(head)} |", "|---" * len(head) + "|", *rows]) + "\n"


def told(found: list[Group]) -> str:
    """What the table of seeds comes to, in a sentence or two."""
    where: dict[str, list[str]] = {"above": [], "level": [], "below": []}
    much = soon = stalled = 0
    counts = set()
    for group in _i2l(found):
        ours, theirs = group.values("return"), RETURNS[group.dynamics]["i2l"][robot(group.env)]
        where[verdict(ours, theirs)].append(f"{robot(group.env)} {group.dynamics}")
        much += ours.mean() >= MUCH * theirs
        soon += float(np.mean([steps_until(run, theirs) for run in group.finished])) <= SOON
        stalled += int((ours < group.values("zero_return")).sum())
        counts.add(len(ours))
    runs = sum(len(group.finished) for group in _i2l(found))
    some = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    names = {verdict: f" ({', '.join(found)})" if found else "" for verdict, found in where.items()}
    return (
        f"**Above the paper in {len(where['above'])} settings of {sum(map(len, where.values()))}, level in "
        f"{len(where['level'])}{names['level']}, below in {len(where['below'])}{names['below']}.**\n"
        f"{MUCH} times the paper's mean in {much}. "
        f"At the paper's return within 1M steps, in the mean of the seeds, in {soon}.\n"
        f"Of {runs} runs ({some} seeds a setting) {stalled or 'none'} end{'s' * (stalled < 2)} below "
        "what doing nothing earns.\n"
    )


def against_rivals(found: list[Group]) -> str:
    """Where I2L is ahead of each method that sees states only, in changed worlds: by the means, and by its seeds."""
    changed = [group for group in found if group.dynamics != "none" and not group.variant]
    changed = [group for group in changed if len(group.values("return"))]
    lines = []
    for rival in RIVALS:
        behind, where = [], {"above": 0, "level": 0, "below": 0}
        for (env, dynamics), members in settings(changed).items():
            returns = {group.method: group.values("return") for group in members}
            if {"i2l", rival} <= set(returns):
                theirs = float(returns[rival].mean())
                behind += [f"{robot(env)} {dynamics}"] if returns["i2l"].mean() <= theirs else []
                where[verdict(returns["i2l"], theirs)] += 1
        if counted := sum(where.values()):
            lines.append(
                f"- Ahead of **{NAMES[rival]}** in {counted - len(behind)} of {counted} changed worlds by the mean"
                f"{' (not in ' + ', '.join(behind) + ')' if behind else ''}; above it in {where['above']}, level in "
                f"{where['level']}, below in {where['below']}.\n"
            )
    return "".join(lines)


WRITERS: dict[str, Callable[[list[Group]], str]] = {
    "summary": lambda found: _bare(summary(found)),
    "seeds": seeds,
    "soon": lambda found: _bare(how_soon(_i2l(found))),
    "glance": glance,
    "told": told,
    "rivals": against_rivals,
    "chances": lambda found: _bare(probabilities(found)),
    "oracle": lambda found: _bare(beside_oracle(found)),
}


def filled(page: str) -> str:
    """The page with its tables written anew."""

    def write(match: re.Match[str]) -> str:
        name, folder = match[1], match[2]
        text = WRITERS[name](_shown(groups(load(ROOT / "results" / folder))))
        return f"<!-- filled: {name} of {folder} -->\n\n{text}\n<!-- end -->"

    return MARK.sub(write, page)


def _bare(table: Table) -> str:
    """Without its heading and note, which the page has."""
    return markdown(replace(table, note="")).split("\n", 2)[2]


def _i2l(found: list[Group]) -> list[Group]:
    return [group for group in found if group.method == "i2l" and not group.variant]


def _shown(found: list[Group]) -> list[Group]:
    """The methods with their usual options, and I2L with the release's."""
    found = [replace(group, variant=RELEASE) if _is_release(group) else group for group in found]
    return [group for group in found if group.method in METHODS and group.variant in ("", RELEASE)]


def _is_release(group: Group) -> bool:
    return all(run.name.endswith(f"-{RELEASE}") for run in group.runs)


if __name__ == "__main__":
    for path in (ROOT / name for name in PAGES):
        path.write_text(filled(path.read_text()))
