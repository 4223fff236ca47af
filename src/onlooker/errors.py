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
