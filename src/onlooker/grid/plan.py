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
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from onlooker import config, start
from onlooker.config import Config
from onlooker.demos import Demos
from onlooker.errors import UserError, nearest
from onlooker.runs.folder import RunFolder
from onlooker.storage import write_json

MARK = "grid.json"  # in an output folder: it is a grid's, and which cells it was asked for


class Cell(NamedTuple):
    """One run of a grid."""

    name: str  # of its folder
    config: Config
    demo: Demos | None  # what its method may see


def read(path: Path) -> list[Cell]:
    """The cells of a grid file. Everything is checked, environments and demonstrations too."""
    try:
        text = Path(path).read_text()
        data = tomllib.loads(text)
    except OSError as failure:
        raise UserError(f"can't read the grid file {path}: {failure.strerror}") from failure
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise UserError(f"{path}: {failure}") from failure
    for key in data:
        if key not in ("defaults", "cells"):
            raise UserError(
                f"{path}, line {_line(text, 0, key)}: unknown table {key!r}{nearest(key, ('defaults', 'cells'))}"
            )
    cells: list[Cell] = []
    checked: dict[Config, Demos | None] = {}
    for number, table in enumerate(data.get("cells", []), 1):
        try:
            cells += _expand({**data.get("defaults", {}), **table}, checked)
        except UserError as failure:
            raise UserError(f"{path}, line {_line(text, number, str(failure))}: {failure}") from failure
    if not cells:
        raise UserError(f"{path} holds no [[cells]]")
    names = [cell.name for cell in cells]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: two cells are both named {name}; give their tables a label each")
    return cells


def _expand(table: Mapping[str, Any], checked: dict[Any, Demos | None]) -> list[Cell]:
    """The product of a table's lists. What was `checked` is not checked again for every seed."""
    settings = dict(table)
    label = settings.pop("label", "")
    lists = {key: value if isinstance(value, list) else [value] for key, value in settings.items()}
    cells = []
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values))
        made = config.make(chosen.pop("method", None) or "", **chosen)
        kind = repr(replace(made, budget=replace(made.budget, seed=0)))
        if kind not in checked:
            checked[kind] = start.check(made)
        name = start.folder_name(made) + (f"-{label}" if label else "")
        cells.append(Cell(name, made, checked[kind]))
    return cells


def _line(text: str, number: int, failure: str) -> int:
    """The line of a grid file that a complaint is about: the first that has a word which it quotes, in the cells
    table `number` or in the defaults; else where that table begins."""
    lines = text.splitlines()
    heads = [index for index, line in enumerate(lines) if line.strip().startswith("[")]
    tables = [index for index in heads if lines[index].strip().startswith("[[cells]]")]
    begin = tables[number - 1] if 0 < number <= len(tables) else 0
    end = next((index for index in heads if index > begin), len(lines)) if number else len(lines)
    words = re.findall(r"'([^']+)'", failure) + ([failure] if not number else [])
    for word in words:
        for index in (*range(begin, end), *range(len(lines))):
            if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", lines[index]):
                return index + 1
    return begin + 1


def open_folder(out: Path, cells: list[Cell]) -> None:
    """Make the output folder, or go on in it. One that holds something else than runs is refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        strangers = [path.name for path in out.iterdir() if not path.name.startswith(".") and not _ours(path)]
        if strangers and not (out / MARK).exists():
            raise UserError(f"{out} holds other things than runs ({strangers[0]}); choose another --out")
        write_json(out / MARK, {"cells": [cell.name for cell in cells]})
    except OSError as failure:
        raise UserError(f"can't write to {out}: {failure.strerror}") from failure


def _ours(path: Path) -> bool:
    return (path / "config.json").exists() or path.name in (MARK, "report")


def prepare(cell: Cell, out: Path) -> RunFolder:
    """The cell's run folder: begun now, or as it was left. A folder with another config is refused."""
    path = out / cell.name
    if not (path / "config.json").exists():
        return RunFolder.create(path, cell.config, cell.demo)
    folder = RunFolder.open(path)
    if folder.config != cell.config:
        raise UserError(f"{path} was begun with other settings than the grid has now; choose another --out")
    return folder
