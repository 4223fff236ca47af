"""The folder that a report goes to. Only what a report wrote is ever replaced."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onlooker.errors import UserError, printable
from onlooker.report.intake import Unreadable, read_bytes
from onlooker.storage import atomic, parse_json, write_json

MARK = ".onlooker-report"  # names the files that a report wrote
LARGEST_MARK = 64 << 20  # bytes
LIVE = {"live.html", "live.js"}  # another process may be writing them: they stay when a report is written


def is_report(folder: Path) -> bool:
    """Whether a report was written here."""
    return (folder / MARK).is_file()


def check(folder: Path) -> None:
    """Refuse a folder that holds anything that no report wrote."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise UserError(printable(f"{folder} is no folder; choose another --out"))
    # A report writes no links, and what one led to would be written instead.
    links = {name for name in _files(folder) if (folder / name).is_symlink()}
    ours = _written(folder) | {MARK}
    strangers = sorted(links or (name for name in _files(folder) - ours if _lasting(name) not in ours))
    if strangers:
        raise UserError(printable(f"{folder} holds {strangers[0]}, which no report wrote; choose another --out"))


def write(folder: Path, contents: dict[str, bytes | Path]) -> None:
    """Put files (their bytes, or where to copy them from) in the place of an earlier report's."""
    check(folder)
    before = _files(folder) & _written(folder)
    with _complaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Named before they are there: a report that is cut short can be written again.
        write_json(folder / MARK, sorted(before | contents.keys()))
        for name, content in contents.items():
            _put(folder / name, content)
        for name in before - contents.keys() - LIVE:
            path = folder / name
            path.unlink()
            while path.parent != folder and not any(path.parent.iterdir()):
                path = path.parent
                path.rmdir()
        write_json(folder / MARK, sorted(contents.keys() | (_written(folder) & LIVE)))


def write_live(folder: Path, contents: dict[str, bytes]) -> None:
    """Put files of a live page beside those of a report, if there is one. The caller has checked the folder."""
    with _complaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
        named = _written(folder)
        if not contents.keys() <= named:
            write_json(folder / MARK, sorted(named | contents.keys()))
        for name, content in contents.items():
            _put(folder / name, content)


def _put(path: Path, content: bytes | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as stream:
        if isinstance(content, bytes):
            stream.write(content)
        else:
            with content.open("rb") as source:
                shutil.copyfileobj(source, stream)


@contextmanager
def _complaining(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise UserError(printable(f"can't write to {folder}: {failure.strerror}")) from failure


def _lasting(name: str) -> str:
    """What a file will be called once it is whole: `storage.atomic` writes `live.js` as `.live.js.x2k4_8ab`."""
    return re.sub(r"(^|/)\.([^/]+)\.[a-z0-9_]{8}$", r"\1\2", name)


def _files(folder: Path) -> set[str]:
    """All that lies in it at any depth, links too, but plain folders."""
    found, waiting = set(), [folder] if folder.is_dir() else []
    try:
        while waiting:
            for entry in os.scandir(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry))
                else:
                    found.add(Path(entry).relative_to(folder).as_posix())
    except OSError as failure:
        raise UserError(printable(f"can't read the folder {folder}: {failure.strerror}")) from failure
    return found


def _written(folder: Path) -> set[str]:
    """What the mark names."""
    try:
        names = parse_json(read_bytes(folder / MARK, LARGEST_MARK))
    except (Unreadable, ValueError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()
