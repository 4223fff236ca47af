"""The live page: `live.html` never changes, and takes what it shows from `live.js`, which is written again and again.

A page that was opened as a file may not fetch other files, but may load a script: so the data is one, a single call.
"""

import math
from pathlib import Path
from typing import Any

from onlooker import __version__
from onlooker.errors import printable
from onlooker.report.entry import evenly
from onlooker.report.following import STATUSES, Followed
from onlooker.report.gallery import link
from onlooker.report.page import embedded, head, part
from onlooker.report.panels import Line, Panel, colors, references
from onlooker.report.remaining import expected_rate, until_all_done
from onlooker.report.variants import METHODS, Group, groups, settings
from onlooker.report.world_names import robot

DRAWN = {"return": "return", "wasserstein": "estimate of W1", "episode_length": "steps of an episode"}
POINTS = (24, 100)  # of a curve, at least and at most
MOST_POINTS = 12_000  # of all curves together
BEAT = 30.0  # seconds; the data is written this often even if nothing changed: a page can tell that the writer is there


def page() -> bytes:
    """The page."""
    return f"""{head("live")}
<body>
<h1>Onlooker: live</h1>
<p id=written class=note>Reading live.js.</p>
<noscript><p class=partial>This page needs JavaScript.</p></noscript>
<p id=trouble class=partial hidden></p>
<p id=summary></p>
<progress id=done value=0 max=1></progress>
<div id=chosen><input type=search id=filter placeholder="filter, such as: i2l hopper running"
aria-label="filter runs"><span class=legend id=statuses></span></div>
<div class="wide tall"><table id=followed><thead><tr></tr></thead><tbody></tbody></table></div>
<section id=curves><h2>Learning curves</h2><p class=note>One line a run. Click on a name to hide it; point at a curve to
read it.</p><div class=legend></div><div class=panels></div></section>
<section id=films hidden><h2>Films</h2><div class="panels videos"></div><ul></ul></section>
<div hidden><svg></svg></div>
<script>{part("charts.js")}{part("live_page.js")}</script>
</body>
</html>
""".encode()


def script(shown: str, written: float, ended: str = "") -> bytes:
    """`live.js`: the data as `embedded` gives it, when it was written, and why it will not be again, once it won't."""
    about = embedded({"written": written, "beat": BEAT, "ended": ended})
    return f"onlookerLive({about}, {shown});\n".encode()


def data(followed: list[Followed], results: Path, out: Path) -> dict[str, Any]:
    """What a page in the folder `out` shows of the runs."""
    left = seconds_left(followed)
    found = groups([one.run for one in followed])
    labels = {run.name: group.label for group in found for run in group.runs}
    films = [film for one in followed for film in _films(one, out)]
    return {
        "results": printable(str(results)),
        "version": __version__,
        "report": (out / "index.html").is_file(),
        "statuses": STATUSES,
        "all": in_all(followed, left),
        "runs": [_row(one, labels.get(one.run.name, ""), left.get(one.run.name, math.nan)) for one in followed],
        "panels": _panels(found),
        "films": sorted(films, key=lambda film: -film["changed"]),
    }


def seconds_left(followed: list[Followed]) -> dict[str, float]:
    """How long each run that goes on, or waits, will still take by itself; nan where nothing tells."""
    known: dict[tuple[str, str], list[float]] = {}
    for one in followed:
        hours = one.run["hours"]
        whole = one.run.steps / (hours * 3600) if one.status == "finished" and hours > 0 else math.nan
        rate = one.rate if one.status == "running" else whole
        if rate > 0:
            known.setdefault((one.run.method, one.run.env), []).append(rate)
    totals = [one.total for one in followed if one.total is not None]
    usual = sum(totals) / len(totals) if totals else math.nan  # of a cell that has no config yet
    left = {}
    for one in followed:
        if one.status in ("running", "starting", "waiting"):
            own = one.status == "running" and one.rate > 0
            rate = one.rate if own else expected_rate((one.run.method, one.run.env), known)
            left[one.run.name] = max(0.0, (usual if one.total is None else one.total) - one.run.steps) / rate
    return left


def in_all(followed: list[Followed], left: dict[str, float]) -> dict[str, Any]:
    """Steps made, steps to make, speed and time left of all runs together."""
    counted = [one for one in followed if one.status not in ("unreadable", "duplicate")]
    totals = [one.total for one in counted if one.total is not None]
    usual = sum(totals) / len(totals) if totals else 0
    going = [one for one in followed if one.status in ("running", "starting")]
    return {
        "made": sum(one.run.steps for one in counted),
        "total": round(sum(usual if one.total is None else one.total for one in counted)),
        "rate": sum(one.rate for one in going if one.rate > 0),
        "left": until_all_done(
            [left[one.run.name] for one in going],
            [left[one.run.name] for one in followed if one.status == "waiting"],
        ),
    }


def _row(one: Followed, label: str, left: float) -> dict[str, Any]:
    run = one.run
    last = next((float(value) for value in run.curve.get("return", ())[::-1] if math.isfinite(value)), math.nan)
    telling = run.state in ("finished", "unreadable", "duplicate") or one.status == "failed"
    return {
        "run": run.name,
        "method": label or METHODS.get(run.method, run.method),
        "robot": robot(run.env),
        "dynamics": run.dynamics,
        "seed": run.seed,
        "status": one.status,
        "steps": run.steps,
        "of": one.total,
        "rate": one.rate,
        "left": left,
        "return": run["return"] if run.state == "finished" else last,
        "changed": 0.0 if one.status == "waiting" else one.changed,
        "note": run.note if telling else "",
    }


def _panels(found: list[Group]) -> list[dict[str, Any]]:
    """Curves of every setting, a line a run: the return, or what else there is where no reward is known."""
    shades = colors(found)
    rows = min(POINTS[1], max(POINTS[0], MOST_POINTS // max(1, sum(len(group.runs) for group in found))))
    panels = []
    for (env, dynamics), members in settings(found).items():
        runs = [(group, run) for group in members for run in group.runs]
        column = next((name for name in DRAWN if any(name in run.curve for _, run in runs)), None)
        if column is None:
            continue
        drawn = [(group, run) for group, run in runs if column in run.curve]
        lines = []
        for group, run in drawn:
            chosen = evenly(len(run.curve["steps"]), rows)
            x, y = run.curve["steps"][chosen] / 1e6, run.curve[column][chosen]
            lines.append(Line(group.label, shades[group.label], x, y))
        levels = references(members) if column == "return" else []
        title = f"{robot(env)}, {dynamics}"
        panel = Panel(title, title, "million steps", DRAWN[column], lines, levels).to_json()
        for line, (group, run) in zip(panel["lines"], drawn):
            line |= {"run": run.name, "name": f"{group.label}, seed {run.seed}"}
        panels.append(panel)
    return panels


def _films(one: Followed, out: Path) -> list[dict[str, Any]]:
    assert one.run.folder is not None or not one.films
    return [
        {
            "run": one.run.name,
            "file": printable(name),
            "source": f"{link(one.run.folder / name, out)}?{mark.changed}",  # a film that was made anew is another
            "changed": mark.changed / 1e9,
        }
        for name, mark in sorted(one.films.items())
        if one.run.folder is not None
    ]
