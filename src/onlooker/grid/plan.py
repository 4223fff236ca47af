"""Many runs from one small file: a TOML grid expands into cells, each a run folder that can be resumed.

[defaults]                # settings of every cell
steps = 5e6
[[cells]]                 # each table is a product: lists multiply
method = ["i2l", "ppo"]
env = ["HalfCheetah-v5", "Hopper-v5"]
seed = [0, 1]
ppo = { epochs = 10 }     # options of a method's part, as in --ppo.epochs 10
label = "long"            # goes to the end of the folders' names; tells apart what only options do
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from onlooker import config, importing, start
from onlooker.config import Budget, Config
from onlooker.envs.world import World
from onlooker.errors import UserError, printable
from onlooker.grid.toml_file import GridFile
from onlooker.options.filling import fill
from onlooker.runs import layout
from onlooker.runs.folder import RunFolder
from onlooker.storage import write_json

MOST_CELLS = 10_000
LONGEST_LABEL = 100
LONGEST_NAME = 200  # bytes; file systems end at 255
TEXTS = ("method", "env", "preset", "dynamics")  # settings that are read before their types are checked


class Cell(NamedTuple):
    """One run of a grid."""

    name: str  # of its folder
    config: Config
    shown: Any  # what its method may see of the expert


@dataclass(frozen=True)
class Unread:
    """The options of a method that was not imported."""


def read(path: Path, trust: bool = False, dry: bool = False) -> list[Cell]:
    """The cells of a grid file. Everything is checked, environments and demonstrations too.

    trust: code of the user's own that the file names may be imported. dry: nothing of it is, so what needs it is not
    checked.
    """
    file = GridFile(path)
    tables = [{**file.defaults, **table} for table in file.cells]
    total = 0
    for number, table in enumerate(tables, 1):
        count = math.prod(len(value) for value in table.values() if isinstance(value, list))
        total += count
        if total > MOST_CELLS:
            raise file.refuse(number, f"{total:,} cells up to here, and a grid has at most {MOST_CELLS:,}")
    cells: list[Cell] = []
    names: set[str] = set()
    checked: dict[str, Any] = {}
    for number, table in enumerate(tables, 1):
        try:
            for cell in _expand(table, checked, trust, dry):
                if cell.name in names:
                    raise UserError(f"two cells are both named {cell.name}; give their tables a label each")
                names.add(cell.name)
                cells.append(cell)
        except UserError as failure:
            raise file.refuse(number, failure) from failure
    return cells


def _expand(table: Mapping[str, Any], checked: dict[str, Any], trust: bool, dry: bool) -> list[Cell]:
    """The product of a table's lists. What was `checked` is not checked again for every seed."""
    settings = dict(table)
    label = _checked_label(settings.pop("label", ""))
    lists = {key: value if isinstance(value, list) else [value] for key, value in settings.items()}
    for key in TEXTS:
        for value in lists.get(key, []):
            if not isinstance(value, str):
                raise UserError(f"{key!r} must be a text or a list of texts, not {value!r}")
    for what, key in (("method", "method"), ("environment", "env")):
        for value in filter(importing.is_import_path, lists.get(key, [])):
            if trust:
                importing.allow(value)
            importing.check_allowed(value, what)
    cells = []
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values))
        method = chosen.pop("method", "")
        own = importing.is_import_path(method)
        made = _unread(method, chosen) if dry and own else config.make(method, **chosen)
        kind = repr(replace(made, budget=replace(made.budget, seed=0)))
        if kind not in checked:
            own = own or importing.is_import_path(made.world.env)
            checked[kind] = None if dry and own else start.show(made)
            if not (dry and own):
                start.build(made, checked[kind])
        name = start.folder_name(made) + (f"-{label}" if label else "")
        if len(name.encode()) > LONGEST_NAME:
            raise UserError(f"the folder's name {name} is longer than {LONGEST_NAME} bytes")
        cells.append(Cell(name, made, checked[kind]))
    return cells


def _checked_label(label: Any) -> str:
    """A label ends up in a folder's name: it leads nowhere else."""
    if not isinstance(label, str):
        raise UserError(f"'label' must be a text, not {label!r}")
    if len(label) > LONGEST_LABEL:
        raise UserError(f"the label {label!r} is longer than {LONGEST_LABEL} characters")
    if label in (".", "..") or not all(letter.isalnum() or letter in "-._=+" for letter in label):
        raise UserError(f"the label {label!r} is no name; it may hold letters, digits and - . _ = +")
    return label


def _unread(method: str, settings: Mapping[str, Any]) -> Config:
    """What a file says of a run whose method is not imported: its world and its budget."""
    world, budget = (
        fill(part, {name: value for name, value in settings.items() if name in part.__dataclass_fields__}, where)
        for part, where in ((World, "world"), (Budget, "budget"))
    )
    return Config(method, Unread(), world, budget)


def import_paths(cells: list[Cell]) -> list[str]:
    """Code of the user's own that the cells need, and that was trusted when they were read."""
    named = {text for cell in cells for text in (cell.config.method, cell.config.world.env)}
    return sorted(filter(importing.is_import_path, named))


def open_folder(out: Path, cells: list[Cell]) -> None:
    """Make the output folder, or go on in it. One that holds something else than runs is refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        strangers = [path.name for path in out.iterdir() if not path.name.startswith(".") and not _ours(path)]
        if strangers and not (out / layout.GRID).exists():
            raise UserError(f"{out} holds other things than runs ({printable(strangers[0])}); choose another --out")
        write_json(out / layout.GRID, {"cells": [cell.name for cell in cells]})
    except OSError as failure:
        raise UserError(f"can't write to {out}: {failure.strerror}") from failure


def _ours(path: Path) -> bool:
    return (path / layout.CONFIG).exists() or path.name in (layout.GRID, "report")


def prepare(cell: Cell, out: Path) -> RunFolder:
    """The cell's run folder: begun now, or as it was left. A folder with another config is refused."""
    path = out / cell.name
    if cell.name in ("", ".", "..") or path.name != cell.name:
        raise UserError(f"{cell.name!r} is no name of a folder in {out}")
    if not (path / layout.CONFIG).exists():
        return RunFolder.create(path, cell.config, cell.shown)
    folder = RunFolder.open(path)
    if folder.config != cell.config:
        raise UserError(f"{path} was begun with other settings than the grid has now; choose another --out")
    return folder
