"""The one exception a user causes: the command line prints it as one line and exits with code 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user gave is wrong. The message is one line that names the bad value and the good ones."""


def nearest(bad: str, good: Iterable[str]) -> str:
    """Say which names are allowed, and which one was probably meant: `; did you mean 'x'? (one of: ...)`."""
    good = sorted(good)
    by_lower = {name.lower(): name for name in good}
    close = difflib.get_close_matches(bad.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    return f"{hint} (one of: {', '.join(good)})"


def printable(text: str) -> str:
    """A text from outside, safe for a terminal: control characters and lone surrogates as escapes, \\x1b or \\ud800."""
    codes = ((letter, ord(letter)) for letter in text)
    return "".join(s if s.isprintable() else f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}" for s, n in codes)
