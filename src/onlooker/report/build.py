"""The whole report, from runs to files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from onlooker import __version__
from onlooker.report import output, panels
from onlooker.report.ablation import ablation_table, ablations, without_ablated
from onlooker.report.attainable import beside_oracle
from onlooker.report.comparisons import aggregates, dynamics_tables, probabilities, summary
from onlooker.report.entry import Run
from onlooker.report.figures import draw, draw_row, fresh, slug
from onlooker.report.gallery import films
from onlooker.report.inventory import (
    attention,
    between_settings,
    counts,
    coverage,
    different_demonstrations,
    is_partial,
    other_versions,
    speed,
)
from onlooker.report.lower_bound import bounds, bounds_table
from onlooker.report.overview import overview
from onlooker.report.page import Section, page
from onlooker.report.panels import Panel
from onlooker.report.paper import ABOUT, STEPS, paper_return
from onlooker.report.sooner import how_soon
from onlooker.report.sweeping import sweeps
from onlooker.report.tables import comma_separated, markdown
from onlooker.report.unrewarded import unrewarded
from onlooker.report.variants import Group, groups, usable
from onlooker.report.world_names import PRESETS, robot

DEFINITIONS = [
    "return: mean undiscounted true return of the training episodes that ended in the last 100,000 steps, never the "
    "best ones. eval_return: of 10 deterministic episodes from fixed seeds. of demo: as a fraction of the "
    "demonstration's return.",
    "deviation: standard deviation over seeds. IQM: interquartile mean over seeds. 95% interval: of the IQM, by "
    "bootstrap over seeds; it needs two seeds. above, below: the whole interval, or a single seed by over 5%.",
]
CURVES = [
    "Mean over seeds, and one standard deviation. Click on a name to hide it; point at a curve to read it.",
    "GAIL-SA, AIRL, PPO and the expert's own policy know more: dotted lines show what they reach in the end.",
]
GLANCE = (
    "<p>Every setting as a share of the demonstration's return. Black marks: the paper's, as a share of its own.</p>"
    '<div class=wide><img id=overview src="figures/overview.svg" alt="Return of each method in every setting"></div>'
)


def build(runs: list[Run], out: Path, say: Callable[[str], None] = lambda line: None) -> Path:
    """Write the report on the runs to the folder `out`; its page."""
    output.check(out)
    found = groups(runs)
    partial = f"Partial results of {counts(runs)}." if is_partial(runs) else ""
    markup, copies = films(runs, out)
    glance = overview(without_ablated(found))
    results = _results(found, GLANCE if glance else "")
    sections = [_here(runs, found), *results, *_analyses(runs, found), _speed(found)]
    sections += [Section("videos", "Videos", markup=markup)] if markup else []
    fold = "<details><summary>show the runs</summary><div class=wide><table id=runs><thead><tr></tr></thead>"
    fold += "<tbody></tbody></table></div></details>"
    sections.append(Section("every-run", "Every run with its config", markup=fold))

    _tell_figures_apart(sections)
    contents: dict[str, bytes | Path] = {f"figures/{name}": drawn for name, drawn in glance.items()}
    contents["index.html"] = page(sections, runs, counts(runs), is_partial(runs)).encode()
    for table in (table for section in sections for table in section.tables):
        note = " ".join(filter(None, [table.note, partial]))
        contents[f"tables/{slug(table.name)}.md"] = markdown(replace(table, note=note)).encode()
        contents[f"tables/{slug(table.name)}.csv"] = comma_separated(table).encode()
    for section in sections:
        for heading, members in section.figures.items():
            say(f"drawing {section.title}{': ' + heading if heading else ''}")
            for panel in members:
                contents |= {f"figures/{name}": picture for name, picture in draw(panel).items()}
            if heading in PRESETS and len(members) > 1:
                row = draw_row(members, f"{section.name}-{heading}")
                contents |= {f"figures/{name}": picture for name, picture in row.items()}
    output.write(out, contents | copies)
    return out / "index.html"


def _here(runs: list[Run], found: list[Group]) -> Section:
    text = []
    table = coverage(found)
    if any(cell == "not run" for row in table.rows for cell in row):
        text.append("Not every method was run in every setting.")
    for version, names in other_versions(runs).items():
        text.append(f"Made by onlooker {version} (this is {__version__}), read as they are: {', '.join(names)}.")
    apart = between_settings(found)
    if apart:
        text.append(f"From setting to setting, runs of one name differ in: {'; '.join(apart)}.")
    different = different_demonstrations(found)
    if different:
        text.append(f"Runs of one setting watched demonstrations of different returns: {'; '.join(different)}.")
    missing = attention(runs)
    return Section("here", "What is here, what is missing", text, [table] + [missing] * bool(missing.rows))


def _results(found: list[Group], glance: str) -> list[Section]:
    main = without_ablated(found)
    wide = summary(main)
    without = unrewarded(found)
    nothing = [] if wide.rows or without.rows else ["No run is finished yet."]
    others = sorted({group.steps for group in main if group.steps != STEPS and _stated(group)})
    steps = (
        f" Not all of ours made 5 million steps: some made {', '.join(map('{:,}'.format, others))}." if others else ""
    )
    note = replace(wide, note=ABOUT + steps)
    tables = [replace(table, note=ABOUT) for table in dynamics_tables(found)]
    totals, chances = aggregates(main), probabilities(found)
    others_too = [table for table in (totals, how_soon(main), beside_oracle(main)) if table.rows]
    curves, actions = panels.learning_curves(found), panels.action_curves(found)
    sections = [
        Section(
            "results",
            "Results",
            DEFINITIONS + nothing,
            [*[note] * bool(wide.rows), *[without] * bool(without.rows)],
            markup=glance,
        )
    ]
    if curves:
        sections.append(Section("curves", "Learning curves", CURVES, figures=_by_heading(curves)))
    if tables:
        sections.append(Section("tables", "Results in full", [], tables + others_too))
    if actions:
        about = ["They also see the expert's actions, which belong to the expert's physics."]
        sections.append(Section("actions", "GAIL-SA and AIRL", about, figures=_by_heading(actions)))
    text = [] if chances.rows else ["There is no setting with finished runs of both I2L and a baseline."]
    sections.append(Section("chances", "Does I2L beat the others?", text, [chances] * bool(chances.rows)))
    swept = sweeps(found)
    if swept:
        text = ["Return against one factor of the learner's physics; 1 is the expert's own."]
        sections.append(Section("sweep", "How far may the physics differ?", text, figures=_by_heading(swept)))
    return sections


def _analyses(runs: list[Run], found: list[Group]) -> list[Section]:
    ablated = list(enumerate(ablations(found), 1))
    capacity = Section("capacity", "Capacity of the buffer")
    for number, members in ablated:
        capacity.figures.setdefault("", []).append(panels.capacity_curves(number, members, found))
        capacity.tables.append(ablation_table(number, members, found))
    if not ablated:
        capacity.text.append("No two I2L runs differ in nothing but elite.capacity.")
    estimate = Section(
        "wasserstein", "Wasserstein estimate over training", figures=_by_heading(panels.distances(found))
    )
    estimate.text.append("Mean of the critic over the expert's states less that over the buffer's, as I2L saw it.")
    measured = bounds(usable(runs))
    bound = Section("bound", "Lower bound")
    if measured:
        bound.text.append(
            "f on the expert's state-action pairs, and its lower bound by the buffer: E_buffer[f] - L W1."
        )
        bound.figures = _by_heading(panels.bound_panels(measured))
        bound.tables.append(bounds_table(measured))
    else:
        bound.text.append("No run has an analysis.json with a lower bound.")
    return [capacity, *([estimate] if estimate.figures else []), bound]


def _speed(found: list[Group]) -> Section:
    return Section("speed", "Speed and hours", tables=[speed(found)])


def _stated(group: Group) -> bool:
    """Whether the paper states a number for it."""
    return paper_return(group.method, robot(group.env), group.dynamics) is not None


def _tell_figures_apart(sections: list[Section]) -> None:
    """Give every figure a file name of its own."""
    taken: set[str] = set()
    for section in sections:
        for panels_here in section.figures.values():
            for place, panel in enumerate(panels_here):
                panels_here[place] = replace(panel, name=fresh(slug(panel.name), taken))
                taken.add(panels_here[place].name)


def _by_heading(members: list[Panel]) -> dict[str, list[Panel]]:
    by_heading: dict[str, list[Panel]] = {}
    for panel in members:
        by_heading.setdefault(panel.heading, []).append(panel)
    return by_heading
