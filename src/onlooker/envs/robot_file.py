"""A robot's XML file: looked over, compiled by MuJoCo, and checked for what a robot needs."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from onlooker.envs.engine import mujoco
from onlooker.envs.trees import actuated_roots, name_of
from onlooker.errors import UserError, printable

FOLDERS = ("meshdir", "texturedir", "assetdir")
LARGEST = 20_000_000  # bytes of XML


def is_robot_file(source: object) -> bool:
    """Whether an environment is named by its XML file."""
    return isinstance(source, str) and source.lower().endswith(".xml")


def compile_robot(path: Path) -> mujoco.MjModel:
    """The model in a file, if one robot is in it that can be driven."""
    if not path.is_file():
        raise UserError(f"there is no file {printable(str(path))}")
    _look_over(path, path.resolve().parent)
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, mujoco.FatalError) as failure:
        raise UserError(f"can't compile {path}: {printable(' '.join(str(failure).split()))}") from failure
    _check(path, model)
    return model


def _look_over(path: Path, folder: Path, seen: frozenset[Path] = frozenset()) -> None:
    """Refuse files that MuJoCo would read from elsewhere: a robot from a stranger stays within its own folder."""
    if path.stat().st_size > LARGEST:
        raise UserError(f"{path} has more than {LARGEST:,} bytes")
    text = path.read_bytes()
    if b"<!ENTITY" in text:
        raise UserError(f"{path} declares entities, which no robot needs")
    try:
        elements = list(ElementTree.fromstring(text).iter())
    except (ElementTree.ParseError, ValueError, LookupError) as failure:
        raise UserError(f"can't compile {path}: {printable(str(failure))}") from failure
    folders = [value for e in elements for key, value in e.attrib.items() if key in FOLDERS]
    named = [value for e in elements for key, value in e.attrib.items() if key.startswith("file") and value]
    for place in (*folders, *named, *(f"{under}/{name}" for under in folders for name in named)):
        for start in {folder, path.resolve().parent}:
            whole = (start / place).resolve()
            if Path(place).is_absolute() or not whole.is_relative_to(folder):
                raise UserError(f"{path} names {printable(place)}, which is outside of its folder {folder}")
            if whole.suffix.lower() == ".xml" and whole.is_file() and whole not in seen:
                _look_over(whole, folder, seen | {whole})


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
