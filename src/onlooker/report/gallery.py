"""Films of runs: small ones are copied beside the page, large ones linked where they lie."""

import html
import os
from pathlib import Path
from urllib.parse import quote

from onlooker.report.entry import Run

SMALL = 5_000_000  # bytes


def films(runs: list[Run], out: Path) -> tuple[str, dict[str, bytes | Path]]:
    """HTML that shows them, and the files to copy: place in the report -> where it lies."""
    copies: dict[str, bytes | Path] = {}
    shown, linked = [], []
    for run in runs:
        folder = run.folder or Path()
        for path in sorted([*folder.glob("*.mp4"), *folder.glob("*.gif")]) if run.folder else ():
            name = html.escape(f"{run.name}/{path.name}")
            if path.stat().st_size >= SMALL:
                there = quote(Path(os.path.relpath(path.resolve(), out.resolve())).as_posix())
                linked.append(f'<li><a href="{there}">{name}</a>, {path.stat().st_size / 1e6:.0f} MB</li>')
                continue
            place = f"videos/{run.name}/{path.name}"
            copies[place] = path
            film = f'<video controls muted preload=metadata src="{quote(place)}"></video>'
            picture = f'<img loading=lazy alt="{name}" src="{quote(place)}">'
            shown.append(
                f"<figure>{picture if path.suffix == '.gif' else film}<figcaption>{name}</figcaption></figure>"
            )
    markup = f"<div class='panels videos'>{''.join(shown)}</div>" if shown else ""
    return markup + (f"<ul>{''.join(linked)}</ul>" if linked else ""), copies
