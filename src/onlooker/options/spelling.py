"""How values of our own types are written on the command line: one word each."""

import json
from typing import Annotated, Any

import tyro

MOST_DIMS = 100_000  # no robot has more numbers in an observation


def spelled(parse: Any, show: Any, metavar: str) -> Any:
    """How a type of ours is written on the command line: one word."""
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: parse(words[0]),
        is_instance=lambda value: value is not None,
        str_from_instance=lambda value: ["None" if value is None else show(value)],
    )


def parse_count(text: str) -> int:
    """`5000000`, `5e6` or `5_000_000`; no fractions, nothing that is not finite."""
    try:
        number = float(text)
        if number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no whole number; write 1000000 or 1e6") from None
    return int(number)


def parse_kwargs(text: str) -> dict[str, Any]:
    """`{"frame_skip": 4}` as JSON, or `frame_skip=4,reset_noise_scale=0` (values as JSON, else as text)."""
    if text.lstrip().startswith("{"):
        return json.loads(text)
    pairs = (part.partition("=") for part in text.split(",") if part.strip())
    return {key.strip(): _json_or_text(value) for key, _, value in pairs}


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"True": True, "False": False}.get(text, text)


def parse_dims(text: str) -> tuple[int, ...]:
    """`0-7,10` -> (0, 1, ..., 7, 10)."""
    dims: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            more = range(int(first), int(last or first) + 1)
            if not 1 <= more.stop - more.start <= MOST_DIMS - len(dims):
                raise ValueError
            dims.extend(more)
    except ValueError:
        raise ValueError(f"{text!r} names no entries; write 0-7 or 0,1,4") from None
    return tuple(dims)


Count = Annotated[int, spelled(parse_count, str, "N")]
Keywords = Annotated[dict[str, Any], spelled(parse_kwargs, json.dumps, "JSON | KEY=VALUE,...")]
Dims = Annotated[tuple[int, ...] | None, spelled(parse_dims, lambda dims: ",".join(map(str, dims)), "0-7,10")]
