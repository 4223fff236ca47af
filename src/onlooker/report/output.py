"""The folder that a report goes to. Only what a report wrote is ever replaced."""

import json
import os
import shutil
from pathlib import Path

from onlooker.errors import UserError
from onlooker.storage import atomic, write_json

MARK = ".onlooker-report"  # names the files that a report wrote


def is_report(folder: Path) -> bool:
    """Whether a report was written here."""
    return (folder / MARK).is_file()


def check(folder: Path) -> None:
    """Refuse a folder that holds anything that no report wrote."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is no folder; choose another --out")
    strangers = sorted(_files(folder) - _written(folder) - {MARK})
    if strangers:
        raise UserError(f"{folder} holds {strangers[0]}, which no report wrote; choose another --out")


def write(folder: Path, contents: dict[str, bytes | Path]) -> None:
    """Put files (their bytes, or where to copy them from) in the place of an earlier report's."""
    check(folder)
    before = _files(folder) & _written(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Named before they are there: a report that is cut short can be written again.
        write_json(folder / MARK, sorted(before | contents.keys()))
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic(path) as stream:
                if isinstance(content, bytes):
                    stream.write(content)
                else:
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, stream)
        for name in before - contents.keys():
            (folder / name).unlink()
        write_json(folder / MARK, sorted(contents))
        for here, _, _ in os.walk(folder, topdown=False):
            if not any(Path(here).iterdir()):
                Path(here).rmdir()
    except OSError as failure:
        raise UserError(f"can't write to {folder}: {failure.strerror}") from failure


def _files(folder: Path) -> set[str]:
    found = (Path(here) / name for here, _, names in os.walk(folder) for name in names)
    return {path.relative_to(folder).as_posix() for path in found}


def _written(folder: Path) -> set[str]:
    """What the mark names."""
    try:
        names = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()
