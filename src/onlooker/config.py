"""What a run is: a method in a world, with a budget. Frozen dataclasses; the command line is made from them."""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from onlooker import __version__
from onlooker.envs.pool import Pool
from onlooker.envs.world import World
from onlooker.errors import UserError, nearest
from onlooker.methods import Problem, find
from onlooker.methods.presets import merged, preset_settings
from onlooker.options.spelling import Count

FORMAT = 1  # of the run folder


@dataclass(frozen=True)
class Budget:
    """How much is tried."""

    steps: Count = 5_000_000
    """Control steps of all environments together. Runs end on a whole iteration."""
    seed: int = 0
    """Same seed, same machine: same numbers."""
    num_envs: int = 16
    """Environments in parallel; the default is the method's own."""
    steps_per_iteration: Count = 2048
    """Steps between two updates, of all environments together."""

    @property
    def iterations(self) -> int:
        """Rollouts and updates in the whole run."""
        return math.ceil(self.steps / self.steps_per_iteration)

    def check(self) -> None:
        """Refuse what can't work, before anything starts."""
        for name in ("steps", "num_envs", "steps_per_iteration"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise UserError(f"--seed must be from 0 to {2**32 - 1}, not {self.seed}")
        if self.steps_per_iteration % self.num_envs:
            raise UserError(
                f"--num-envs must divide --steps-per-iteration ({self.steps_per_iteration}), and {self.num_envs} "
                f"does not (near: {_nearest_divisor(self.steps_per_iteration, self.num_envs)})"
            )


@dataclass(frozen=True)
class Config:
    """One run."""

    method: str
    options: Any
    world: World = field(default_factory=World)
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        self.world.check()
        self.budget.check()
        check_numbers(self.options)
        rows, learner = self.budget.steps_per_iteration, getattr(self.options, "ppo", None)
        minibatches = 1 if learner is None else learner.minibatches
        if rows % minibatches:
            raise UserError(
                f"--ppo.minibatches must divide --steps-per-iteration ({rows}), and {minibatches} does not "
                f"(near: {_nearest_divisor(rows, minibatches)})"
            )
        fits = getattr(getattr(self.options, "discriminator", None), "steps", 1)
        if fits > rows:
            raise UserError(f"--discriminator.steps must be at most --steps-per-iteration ({rows}), not {fits}")

    def problem(self, pool: Pool) -> Problem:
        """The sizes that the method is built for."""
        budget = self.budget
        sizes = (pool.obs_size, pool.action_size, budget.num_envs, pool.max_episode_steps, budget.iterations)
        return Problem(*sizes, pool.action_low, pool.action_high)

    def to_json(self) -> dict[str, Any]:
        """For `config.json`; `from_json` reads it back."""
        return {"format": FORMAT, "version": __version__, **dataclasses.asdict(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Config":
        """Read what `to_json` wrote."""
        options = fill(find(data["method"]), data["options"], "options")
        return Config(
            data["method"], options, fill(World, data["world"], "world"), fill(Budget, data["budget"], "budget")
        )


def make(method: str, preset: str | None = None, **settings: Any) -> Config:
    """A run from plain values by their command-line names: make("ppo", env="Hopper-v5", ppo={"epochs": 10})."""
    under = {"num_envs": find(method).best_num_envs}
    under |= preset_settings(method, preset, settings.get("env", World.env))
    settings = merged(under, settings)
    parts: dict[str, Any] = {"world": World, "budget": Budget, "options": find(method)}
    owner = {name: part for part, cls in parts.items() for name in cls.__dataclass_fields__}
    given: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for name, value in settings.items():
        if name not in owner:
            raise UserError(f"unknown option {name!r} for {method}{nearest(name, owner)}")
        given[owner[name]][name] = value
    return Config(method, **{part: fill(cls, given[part], part) for part, cls in parts.items()})


def fill(cls: Any, values: Mapping[str, Any], where: str) -> Any:
    """A dataclass from plain (JSON or TOML) values, each checked against its field's type."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where}: {values!r} is no table of options")
    known = typing.get_type_hints(cls, include_extras=True)
    filled = {}
    for name, value in values.items():
        if name not in known:
            raise UserError(f"{where}: unknown option {name!r}{nearest(name, known)}")
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
        return _fit(arguments[0], _as_on_the_command_line(arguments[1], value, where), where)
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


def check_numbers(options: Any, where: str = "") -> None:
    """No number of a method's options is NaN, infinite, or zero or negative where that has no meaning."""
    may_be_negative = {"log_std_init", "log_std_end", "log_std_min", "log_std_max", "match_dims"}
    at_most_one = {"discount", "trace", "weigh", "ahead"}
    may_be_zero = {"entropy_bonus", "value_clip", "value_coefficient", "positive_penalty", "gradient_penalty", "fall"}
    may_be_zero |= {"reward", *at_most_one} - {"discount"}
    for name, value in vars(options).items():
        flag = f"--{where}{name}".replace("_", "-")
        if dataclasses.is_dataclass(value):
            check_numbers(value, f"{name}.")
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            if name in may_be_negative:
                if not math.isfinite(number):
                    raise UserError(f"{flag} must be a finite number, not {number}")
            elif not math.isfinite(number) or number < 0 or (number == 0 and name not in may_be_zero):
                raise UserError(
                    f"{flag} must be a {'' if name in may_be_zero else 'positive, '}finite number, not {number}"
                )
            if name in at_most_one and number > 1:
                raise UserError(f"{flag} must be at most 1, not {number}")


def _nearest_divisor(number: int, wanted: int) -> int:
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))
