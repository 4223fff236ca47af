"""A run's own copy of a robot from its file: the run goes on whatever becomes of the original."""

from pathlib import Path

from onlooker.envs.engine import mujoco
from onlooker.envs.robot_file import named_files
from onlooker.envs.world import World
from onlooker.errors import UserError, printable
from onlooker.storage import atomic


def keep(world: World, folder: Path) -> None:
    """Copy the robot's file, the settings beside it and all that it names, if the world's robot is from a file."""
    if world.file is None or not (path := Path(world.file).expanduser()).is_file():  # or one that Gymnasium ships
        return
    files = named_files(path)
    if path.with_suffix(".toml").is_file():
        files.append(Path(path.name).with_suffix(".toml"))
    for file in files:
        copy = folder / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        with atomic(copy) as stream:
            stream.write((path.parent / file).read_bytes())
    try:
        mujoco.MjModel.from_xml_path(str(folder / path.name))
    except ValueError as failure:
        raise UserError(f"can't keep a copy of {path}: {printable(' '.join(str(failure).split()))}") from failure
