"""A robot's XML file: looked over, compiled by MuJoCo, and checked for what a robot needs."""

import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from onlooker.envs.engine import mujoco
from onlooker.envs.trees import actuated_roots, name_of
from onlooker.errors import UserError, printable

FOLDERS = ("meshdir", "texturedir", "assetdir")
LARGEST = 20_000_000  # bytes of XML


def compile_robot(path: Path) -> mujoco.MjModel:
    """The model in a file, if one robot is in it that can be driven."""
    if not path.is_file():
        raise UserError(f"there is no file {printable(str(path))}")
    named_files(path)
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, mujoco.FatalError) as failure:
        raise UserError(f"can't compile {path}: {printable(' '.join(str(failure).split()))}") from failure
    _check(path, model)
    return model


def named_files(path: Path) -> list[Path]:
    """Where in its folder the files of a robot lie, its own first: all that MuJoCo may read of those that are there.

    What it would read from elsewhere is refused: a robot from a stranger stays within its own folder.
    """
    folder = path.parent.resolve()
    found = [Path(path.name)]
    folders: dict[str, Path] = {"": Path()}  # where files may lie -> the folder of the file that says so
    named: dict[str, Path] = {}
    looked_over = 0
    while looked_over < len(found):
        file = found[looked_over]
        looked_over += 1
        if file.suffix.lower() != ".xml":
            continue
        for element in _elements(path.parent / file):
            for key, value in element.attrib.items():
                if key in FOLDERS:
                    folders.setdefault(value, file.parent)
                elif key.startswith("file") and value:
                    named.setdefault(value, file.parent)
        places = {name: {Path(), within} for name, within in (folders | named).items()}
        places |= {
            f"{under}/{name}": {Path(), one, two}
            for under, one in folders.items()
            if under
            for name, two in named.items()
        }
        for place, starts in places.items():
            for start in starts:
                whole = (folder / start / place).resolve()
                if Path(place).is_absolute() or not whole.is_relative_to(folder):
                    raise UserError(
                        f"{path.parent / file} names {printable(place)}, which is outside of its folder {folder}"
                    )
                within = Path(os.path.normpath(start / place))
                if whole.is_file() and within not in found:
                    found.append(within)
    return found


def _elements(path: Path) -> list[ElementTree.Element]:
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path} has more than {LARGEST:,} bytes")
    text = path.read_bytes()
    if b"<!ENTITY" in text:
        raise UserError(f"{path} declares entities, which no robot needs")
    try:
        return list(ElementTree.fromstring(text).iter())
    except (ElementTree.ParseError, ValueError, LookupError) as failure:
        raise UserError(f"can't compile {path}: {printable(str(failure))}") from failure


def _check(path: Path, model: mujoco.MjModel) -> None:
    if model.nu == 0:
        raise UserError(
            f'{path} has no actuators, so nothing can move it; add <actuator><motor joint="NAME" ctrllimited="true" '
            'ctrlrange="-1 1"/></actuator>'
        )
    mocaps = np.flatnonzero(model.body_mocapid >= 0)
    if mocaps.size:
        body = name_of(model, mujoco.mjtObj.mjOBJ_BODY, int(mocaps[0]), "body")
        raise UserError(f'{path} has the mocap body {body!r}, which nothing here moves; remove mocap="true"')
    for index in np.flatnonzero(model.actuator_ctrllimited == 0):
        actuator = name_of(model, mujoco.mjtObj.mjOBJ_ACTUATOR, int(index), "actuator")
        raise UserError(
            f'the actuator {actuator!r} of {path} has no limits; add ctrllimited="true" ctrlrange="-1 1" to it, or '
            "what range it has"
        )
    roots = actuated_roots(model)
    if len(roots) > 1:
        names = ", ".join(name_of(model, mujoco.mjtObj.mjOBJ_BODY, root, "body") for root in roots)
        raise UserError(f"{path} has {len(roots)} robots ({names}), and one file is one robot")
    if not roots:
        raise UserError(f"the actuators of {path} move no body")
