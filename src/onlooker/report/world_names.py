"""Names of worlds: two runs in the same physics are in one setting, however it was asked for."""

import json
import re
from typing import Any

from onlooker.envs import world as worlds
from onlooker.envs.world import ROBOTS

PRESETS = {name: dynamics.changes for name, dynamics in worlds.PRESETS.items()}  # what each one changes
SHIPPED = {name: field.default for name, field in worlds.Dynamics.__dataclass_fields__.items()}
FACTORS = tuple(SHIPPED)


def changes(world: dict[str, Any]) -> dict[str, Any]:
    """What the world changes: its preset's factors, those given by themselves in their place."""
    given = {name: world[name] for name in FACTORS if world.get(name) is not None}
    found = PRESETS.get(world.get("dynamics", "none"), {}) | given
    found = {name: found[name] for name in FACTORS if name in found}
    return {
        name: value for name, value in found.items() if (tuple(value) if name == "wind" else value) != SHIPPED[name]
    }


def dynamics_name(world: dict[str, Any]) -> str:
    """The preset that changes the same, or the changes one by one."""
    preset, found = world.get("dynamics", "none"), changes(world)
    for name, factors in PRESETS.items():
        if preset in PRESETS and factors == found:
            return name
    words = [f"{name} {_spelled(value)}" for name, value in found.items()]
    return ", ".join(words if preset in PRESETS else [str(preset), *words])


def env_name(world: dict[str, Any]) -> str:
    """The environment, with what it was given."""
    given = dict(world.get("env_kwargs") or {})
    if world.get("max_episode_steps") is not None:
        given["max_episode_steps"] = world["max_episode_steps"]
    words = ", ".join(f"{name}={json.dumps(value)}" for name, value in sorted(given.items()))
    return f"{world['env']} ({words})" if words else world["env"]


def robot(env: str) -> str:
    """HalfCheetah-v5 -> HalfCheetah; an environment with keywords keeps its name."""
    return re.sub(r"-v\d+$", "", env)


def env_order(env: str) -> tuple:
    """The paper's robots first."""
    name = robot(env)
    return (ROBOTS.index(name) if name in ROBOTS else len(ROBOTS), natural(env))


def dynamics_order(name: str) -> tuple:
    """Presets first."""
    return (list(PRESETS).index(name) if name in PRESETS else len(PRESETS), natural(name))


def heading(dynamics: str) -> str:
    """Presets stand for themselves, all others together."""
    return dynamics if dynamics in PRESETS else "others"


def natural(text: str) -> tuple:
    """A key that puts 5 before 10."""
    parts = re.split(r"(\d+(?:\.\d+)?(?:e-?\d+)?)", text)
    return tuple((1, float(part), "") if index % 2 else (0, 0.0, part) for index, part in enumerate(parts))


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{part}={_spelled(number)}" for part, number in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_spelled, value))
    return f"{value:g}" if isinstance(value, int | float) else str(value)
