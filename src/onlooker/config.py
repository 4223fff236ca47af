"""What a run is: a method in a world, with a budget. Frozen dataclasses; the command line is made from them."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from onlooker import __version__
from onlooker.envs.world import World
from onlooker.errors import UserError, nearest
from onlooker.methods import find
from onlooker.methods.presets import merged, preset_settings
from onlooker.options.bounds import Bounds, check_numbers
from onlooker.options.filling import fill
from onlooker.options.spelling import Count


@dataclass(frozen=True)
class Budget:
    """How much is tried."""

    steps: Annotated[Count, Bounds(1, 1e13)] = 5_000_000
    """Control steps of all environments together. Runs end on a whole iteration."""
    seed: Annotated[int, Bounds(0, 2**32 - 1)] = 0
    """Same seed, same machine: same numbers."""
    num_envs: Annotated[int, Bounds(1, 10_000)] = 16
    """Environments in parallel; the default is the method's own."""
    steps_per_iteration: Annotated[Count, Bounds(1, 10_000_000)] = 2048
    """Steps between two updates, of all environments together."""

    @property
    def iterations(self) -> int:
        """Rollouts and updates in the whole run."""
        return math.ceil(self.steps / self.steps_per_iteration)

    def check(self) -> None:
        """Refuse what can't work, before anything starts."""
        check_numbers(self)
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

    def to_json(self) -> dict[str, Any]:
        """For `config.json`; `from_json` reads it back."""
        return {"version": __version__, **dataclasses.asdict(self)}

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


def _nearest_divisor(number: int, wanted: int) -> int:
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))
