"""Keywords for an environment, checked before they reach it: Gymnasium takes most nonsense without a word."""

import inspect
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker.errors import UserError, printable

MOST_FRAMES = 1000  # physics steps within a control step
NO_NUMBERS = {"nan", "inf", "infinity"}


def checked(kwargs: Mapping[str, Any] | None, name: str | None = None) -> dict[str, Any]:
    """The keywords, with `xml_file` as a full path. `name` is the registered environment that they are for."""
    kwargs = dict(kwargs or {})
    if "render_mode" in kwargs:
        raise UserError("the keyword render_mode can't be given: learning draws nothing, and `onlooker video` films")
    for key, value in kwargs.items():
        _check_finite(key, value)
    if "frame_skip" in kwargs:
        _check_frames(kwargs["frame_skip"])
    if name is not None:
        for key, usual in _defaults(name).items():
            if key in kwargs:
                _check_kind(name, key, kwargs[key], usual)
    if isinstance(kwargs.get("xml_file"), str):
        kwargs["xml_file"] = _model_file(kwargs["xml_file"])
    return kwargs


def _check_finite(key: str, value: Any, inside: bool = False) -> None:
    """A range may be open, as [0.7, Infinity]; NaN is no number anywhere."""
    key = printable(key)
    if isinstance(value, list | tuple):
        for entry in value:
            _check_finite(key, entry, inside=True)
    elif isinstance(value, float | np.floating):
        if math.isnan(value) or (math.isinf(value) and not inside):
            raise UserError(f"the keyword {key} must be finite, not {value}")
    elif isinstance(value, str) and value.strip("+- ").lower() in NO_NUMBERS:
        raise UserError(f"the keyword {key} must be finite, not {value!r}")


def _check_frames(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= MOST_FRAMES:
        raise UserError(f"the keyword frame_skip must be a whole number from 1 to {MOST_FRAMES}, not {value!r}")


def _defaults(name: str) -> dict[str, Any]:
    """What the keywords of one of Gymnasium's robots are when they are not given."""
    maker = gym.spec(name).entry_point
    if not isinstance(maker, str) or not maker.startswith("gymnasium.envs.mujoco."):
        return {}  # what others take is their own affair
    try:
        parameters = inspect.signature(gym.envs.registration.load_env_creator(maker)).parameters.values()
    except Exception:  # what is long past can't be loaded, and gym.make says why
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty and "str" not in str(p.annotation)}


def _check_kind(name: str, key: str, value: Any, usual: Any) -> None:
    if isinstance(usual, bool):
        if not isinstance(value, bool):
            raise UserError(f"the keyword {key} of {name} is true or false, not {value!r}")
    elif isinstance(usual, int | float):
        if not _is_number(value):
            raise UserError(f"the keyword {key} of {name} is a number (as {usual}), not {value!r}")
        if "noise" in key and value < 0:
            raise UserError(f"the keyword {key} of {name} must be 0 or more, not {value}")
    elif isinstance(usual, tuple) and all(isinstance(entry, int | float) for entry in usual):
        numbers = isinstance(value, list | tuple | np.ndarray) and all(map(_is_number, value))
        if not numbers or len(value) != len(usual):
            raise UserError(f"the keyword {key} of {name} is {len(usual)} numbers (as {list(usual)}), not {value!r}")
        if len(usual) == 2 and "range" in key and not value[0] <= value[1]:
            raise UserError(f"the keyword {key} of {name} is from low to high, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _model_file(given: str) -> str:
    """A file beside the user, or else one of Gymnasium's own by its name."""
    beside = Path(os.path.expanduser(given))
    if beside.is_file():
        return str(beside.absolute())
    from gymnasium.envs.mujoco import mujoco_env

    shipped = Path(mujoco_env.__file__).parent / "assets"
    if beside.name == given and (shipped / given).is_file():
        return given
    raise UserError(
        f"there is no file {printable(given)}: neither from the folder {Path.cwd()} nor one that Gymnasium ships"
    )
