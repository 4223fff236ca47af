"""What a number may be, said beside its field: `rate: Rate = 3e-4`, or `Annotated[float, Bounds(0, 10)]`."""

import dataclasses
import math
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from onlooker.errors import UserError


@dataclass(frozen=True)
class Bounds:
    """From `least` to `most`; with `above`, more than `least`. A tuple's numbers are bounded one by one."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    entries: int = 64  # that a tuple may have

    def allow(self, number: float) -> bool:
        """Whether a number is within. NaN and the infinite never are."""
        return math.isfinite(number) and self.least <= number <= self.most and not (self.above and number == self.least)

    def __str__(self) -> str:
        bounded_below, bounded_above = self.least > -math.inf, self.most < math.inf
        if bounded_below and bounded_above:
            low = f"above {self.least:g} and up" if self.above else f"from {self.least:g}"
            return f"{low} to {self.most:.15g}"
        if self.least == 0 and not bounded_above:
            return "a positive, finite number" if self.above else "a finite number, 0 or more"
        return f"a finite number, at least {self.least:g}" if bounded_below else "a finite number"


Positive = Annotated[float, Bounds(0, above=True)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]
Rate = Annotated[float, Bounds(0, 1, above=True)]  # of learning
Times = Annotated[int, Bounds(1, 1_000_000)]
Layers = Annotated[tuple[int, ...], Bounds(1, 4096, entries=16)]  # how wide each hidden layer is

ANY = Bounds()


def check_numbers(options: Any, where: str = "") -> None:
    """Refuse numbers outside of their fields' bounds; without any, a number must at least be finite."""
    kinds = typing.get_type_hints(type(options), include_extras=True)
    for field in dataclasses.fields(options):
        value, flag = getattr(options, field.name), f"--{where}{field.name}".replace("_", "-")
        if dataclasses.is_dataclass(value):
            check_numbers(value, f"{where}{field.name}.")
            continue
        bounds = next(_bounds_in(kinds[field.name]), ANY)
        numbers = value if isinstance(value, tuple) else (value,)
        if len(numbers) > bounds.entries and isinstance(value, tuple):
            raise UserError(f"{flag} may have {bounds.entries} entries, not {len(numbers)}")
        for number in numbers:
            if isinstance(number, int | float) and not isinstance(number, bool) and not bounds.allow(number):
                raise UserError(f"{flag} must be {bounds}, not {number}")


def _bounds_in(kind: Any) -> Iterator[Bounds]:
    """The bounds that a type names: `Rate`, or `Rate | None`."""
    if typing.get_origin(kind) is Annotated:
        yield from (entry for entry in typing.get_args(kind)[1:] if isinstance(entry, Bounds))
    elif typing.get_origin(kind) in (typing.Union, types.UnionType):
        for option in typing.get_args(kind):
            yield from _bounds_in(option)
