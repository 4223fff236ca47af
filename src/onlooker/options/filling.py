"""A dataclass from plain values, as JSON and TOML hold them: each checked against its field's type."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from onlooker.errors import UserError, nearest
from onlooker.options.history import RENAMED


def fill(cls: Any, values: Mapping[str, Any], where: str) -> Any:
    """A dataclass from plain (JSON or TOML) values, each checked against its field's type."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where}: {values!r} is no table of options")
    known = typing.get_type_hints(cls, include_extras=True)
    filled = {}
    for name, value in values.items():
        if name not in known:
            today = RENAMED.get(f"{where}.{name}", "").rpartition(".")[2]
            said = f"; it is called {today!r} now" if today else nearest(name, known)
            raise UserError(f"{where}: unknown option {name!r}{said}")
        part = cls.__dataclass_fields__[name].default_factory
        if part is not dataclasses.MISSING and isinstance(value, Mapping) and dataclasses.is_dataclass(known[name]):
            value = vars(part()) | dict(value)  # what is not given stays as this method has it
        filled[name] = _fit(known[name], value, f"{where}.{name}")
    return cls(**filled)


def _fit(kind: Any, value: Any, where: str) -> Any:
    """The value as `kind`, or a UserError that says what was expected."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return value if isinstance(value, kind) else fill(kind, value, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        for spelling in (note for note in arguments[1:] if hasattr(note, "instance_from_str")):
            value = _as_on_the_command_line(spelling, value, where)
        return _fit(arguments[0], value, where)
    if origin is Literal:
        if value not in arguments:
            raise UserError(f"{where}: {value!r} is not allowed{nearest(str(value), map(str, arguments))}")
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_fit(arguments[0], item, where) for item in value)
    if origin in (typing.Union, types.UnionType):
        if type(None) in arguments and (value is None or (value == "None" and str not in arguments)):
            return None  # as on the command line: TOML has no word for it
        refused = []
        for option in (option for option in arguments if option is not type(None)):
            try:
                return _fit(option, value, where)
            except UserError as error:
                refused.append(error)
        if len(refused) == 1:
            raise refused[0]
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif kind is int and isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
        return int(value)
    elif isinstance(kind, type) and kind not in (float, int) and isinstance(value, kind):
        return value
    elif origin in (dict, Mapping) and isinstance(value, Mapping):
        return dict(value)
    elif kind is Any:
        return value
    raise UserError(f"{where}: {value!r} is no {getattr(kind, '__name__', str(kind))}")


def _as_on_the_command_line(spelling: Any, value: Any, where: str) -> Any:
    """A text as the command line would read it, `0-7` for example; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return spelling.instance_from_str([value])
    except (ValueError, UserError) as error:
        raise UserError(f"{where}: {error}") from None
