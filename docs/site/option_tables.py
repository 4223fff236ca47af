"""The options of every method as Markdown, from the classes that the command line is made from."""

import dataclasses
import inspect
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from sphinx.pycode import ModuleAnalyzer

from onlooker.commands.train import Running, Train
from onlooker.config import Budget, make
from onlooker.envs.world import World
from onlooker.methods import METHODS
from onlooker.options.bounds import Bounds

KINDS = {int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "yes or no"}


class Part(NamedTuple):
    """Options that stand together: their class, their names in it, and what their flags begin with."""

    cls: Any
    names: tuple[str, ...]
    prefix: str = ""

    @property
    def anchor(self) -> str:
        """What a link to it is called."""
        return f"options-{self.cls.__name__.lower()}"

    @property
    def title(self) -> str:
        """Its flags."""
        return f"`--{self.prefix}*`" if self.prefix else ", ".join(f"`{self.flag(name)}`" for name in self.names)

    def flag(self, name: str) -> str:
        """As it is typed."""
        return f"--{self.prefix}{name}".replace("_", "-")


def markdown() -> str:
    """The whole: each method with its parts, what all runs share, then part by part."""
    parts = _parts()
    lines = ["| method | shown of the expert | `--num-envs` | its options |", "|---|---|---|---|"]
    for method, cls in METHODS.items():
        links = ", ".join(f"[{part.title}](#{part.anchor})" for part in parts if method in parts[part])
        lines.append(f"| `{method}` | {cls.needs} | {cls.best_num_envs} | {links} |")
    shared = {
        "Folder and preset": Train(make("i2l").options),
        "Budget": Budget(),
        "World": World(),
        "Course": Running(),
    }
    lines += ["", "## Of every run", ""]
    for title, values in shared.items():
        lines += [f"### {title}", "", *_table(Part(type(values), _plain(values)), {"": values})]
    lines += ["## Of methods", ""]
    for part, by_method in parts.items():
        lines += [f"({part.anchor})=", f"### {part.title}", "", f"{part.cls.__doc__} Of {', '.join(by_method)}.", ""]
        lines += _table(part, by_method)
    return "\n".join(lines)


def _parts() -> dict[Part, dict[str, Any]]:
    """Each part with the methods that have it, and for each the values that it begins with."""
    found: dict[Part, dict[str, Any]] = {}
    for method, cls in METHODS.items():
        options, plain = make(method).options, {}
        for name in _plain(options):
            plain.setdefault(_owner(cls, name), []).append(name)
        for owner, names in plain.items():
            found.setdefault(Part(owner, tuple(names)), {})[method] = options
        for field in dataclasses.fields(options):
            value = getattr(options, field.name)
            if dataclasses.is_dataclass(value):
                found.setdefault(Part(type(value), _plain(value), f"{field.name}."), {})[method] = value
    return found


def _plain(options: Any) -> tuple[str, ...]:
    """Names of the options that are values, not parts with options of their own."""
    names = (field.name for field in dataclasses.fields(options))
    return tuple(name for name in names if not dataclasses.is_dataclass(getattr(options, name)))


def _table(part: Part, by_method: dict[str, Any]) -> list[str]:
    kinds = typing.get_type_hints(part.cls, include_extras=True)
    lines = ["| option | default | may be | what it does |", "|---|---|---|---|"]
    for name in part.names:
        cells = [f"`{part.flag(name)}`", _default(name, by_method), _allowed(kinds[name]), _meaning(part.cls, name)]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return [*lines, ""]


def _default(name: str, by_method: dict[str, Any]) -> str:
    """The value; where methods begin with different ones, each with its methods."""
    methods: dict[str, list[str]] = {}
    for method, options in by_method.items():
        methods.setdefault(_shown(getattr(options, name)), []).append(method)
    if len(methods) == 1:
        return next(iter(methods))
    return ", ".join(f"{value} ({', '.join(names)})" for value, names in methods.items())


def _shown(value: Any) -> str:
    """As it is typed."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return f"`{' '.join(map(str, value))}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _allowed(kind: Any) -> str:
    """In words, what a value of this type may be."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_allowed(option) for option in arguments if option is not types.NoneType)
    if origin is not Annotated:
        return KINDS[kind]
    bounds = next((note for note in arguments[1:] if isinstance(note, Bounds)), None)
    if bounds is None:
        return next(f"`{note.metavar}`" for note in arguments[1:])  # how it is spelled
    if typing.get_origin(arguments[0]) is tuple:
        return f"up to {bounds.entries} numbers {bounds}"
    return f"whole, {bounds}" if arguments[0] is int else str(bounds)


def _meaning(cls: Any, name: str) -> str:
    """The text below the field."""
    owner = _owner(cls, name)
    found = ModuleAnalyzer.for_module(owner.__module__).find_attr_docs()
    return " ".join(found[owner.__qualname__, name]).strip()


def _owner(cls: Any, name: str) -> Any:
    """The class that declares a field."""
    return next(owner for owner in cls.__mro__ if name in inspect.get_annotations(owner))
