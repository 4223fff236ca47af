"""Films of runs: small ones are copied beside the page, large ones linked where they lie."""

import html
import os
from pathlib import Path
from urllib.parse import quote

from onlooker.errors import printable
from onlooker.report.entry import Run
from onlooker.report.figures import fresh, slug

SMALL = 5_000_000  # bytes
SUFFIXES = (".mp4", ".gif")


def films(runs: list[Run], out: Path) -> tuple[str, dict[str, bytes | Path]]:
    """HTML that shows them, and the files to copy: place in the report -> where it lies."""
    copies: dict[str, bytes | Path] = {}
    shown, linked = [], []
    for called, path in ((run.name, path) for run in runs for path in _found(run)):
        name, size = html.escape(printable(f"{called}/{path.name}")), path.stat().st_size
        if size >= SMALL:
            linked.append(f'<li><a href="{link(path, out)}">{name}</a>, {size / 1e6:.0f} MB</li>')
            continue
        place = fresh(f"videos/{slug(called)}-{slug(path.stem)}", {place.rpartition(".")[0] for place in copies})
        place += path.suffix
        copies[place] = path
        film = f'<video controls muted preload=metadata src="{quote(place)}"></video>'
        picture = f'<img loading=lazy alt="{name}" src="{quote(place)}">'
        shown.append(f"<figure>{picture if path.suffix == '.gif' else film}<figcaption>{name}</figcaption></figure>")
    markup = f"<div class='panels videos'>{''.join(shown)}</div>" if shown else ""
    return markup + (f"<ul>{''.join(linked)}</ul>" if linked else ""), copies


def link(path: Path, out: Path) -> str:
    """Where a file lies as seen from a page in the folder `out`."""
    there = Path(os.path.relpath(os.path.realpath(path), os.path.realpath(out))).as_posix()
    return quote(os.fsencode(there))


def _found(run: Run) -> list[Path]:
    """Films in a run folder that can be opened: a link may lead nowhere, and a pipe has no end."""
    if run.folder is None:
        return []
    found = sorted(path for suffix in SUFFIXES for path in run.folder.glob(f"*{suffix}"))
    return [path for path in found if path.is_file() and os.access(path, os.R_OK)]
