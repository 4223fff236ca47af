"""Ctrl-C and SIGTERM, heard at a moment when everything can be saved."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupted(Exception):
    """The user asked to stop. Everything is saved."""


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """A list that is empty until Ctrl-C or SIGTERM comes; a second Ctrl-C stops at once."""
    heard: list[int] = []

    def hear(number: int, frame: Any) -> None:
        heard.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: signals are somebody else's
        before = {}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
