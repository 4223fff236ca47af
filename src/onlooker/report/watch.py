"""Following runs until they are over: the live page is written again whenever something changed."""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from onlooker.errors import printable
from onlooker.report import live, output
from onlooker.report.build import build
from onlooker.report.entry import Run
from onlooker.report.following import QUIET, STATUSES, Followed, Following
from onlooker.report.inventory import listed

PAUSE = 3.0  # seconds between two looks, at least
LONGEST_PAUSE = 60.0
SHARE = 0.05  # of one core that looking may take: where a look takes long, the next one comes later
SPEAK = 15.0  # seconds between two lines on the terminal
PATIENCE = QUIET  # seconds without news before what is over is left: a film may come yet, and a grid tries again
OVER = ("finished", "failed", "unreadable", "duplicate")

Say = Callable[[str], None]


def watch(results: Path, out: Path, say: Say, drawing: Say = lambda line: None) -> list[Run]:
    """Follow the runs under `results` on a live page in `out`, until all are over or Ctrl-C comes; the runs.

    When all are over, the whole report is written beside it. Nothing is written before a run is there: a new run wants
    an empty folder.
    """
    output.check(out)
    page = LivePage(results, out)
    following, followed = Following(results), list[Followed]()
    spoke, told = -SPEAK, ""
    try:
        for looks in itertools.count():
            began = time.process_time()
            followed = following.look()
            over = _are_over(followed)
            if followed:
                if not page.is_there:
                    say(printable(f"following {results}; open {page.path} in a browser. Ctrl-C ends this"))
                page.show(followed)
                line = counted(followed)
                if _seem_over(followed) and not over:
                    line += f"; this ends when nothing came for {PATIENCE:.0f} seconds"
            else:
                line = printable(f"waiting: there is no run in {results} yet. Ctrl-C ends this")
            if line != told and (over or time.monotonic() - spoke >= SPEAK):
                say(line)
                spoke, told = time.monotonic(), line
            if over:
                break
            took = time.process_time() - began if looks else 0.0  # the first one reads everything
            time.sleep(min(LONGEST_PAUSE, max(PAUSE, took / SHARE)))
        report = build([one.run for one in followed], out, drawing)
        page.show(followed, "finished")
        say(printable(f"all runs are over; the report is {report}"))
    except KeyboardInterrupt:
        if page.is_there and followed:
            page.show(followed, "stopped")
        said = f"the page is {page.path}" if page.is_there else f"no run has begun in {results}, so there is no page"
        say(printable(f"stopped; {said}"))
    return [one.run for one in followed]


class LivePage:
    """`live.html` and `live.js` in a folder."""

    def __init__(self, results: Path, out: Path) -> None:
        self._results, self._out = results, out
        self._shown, self._at = "", 0.0
        self.path = out / "live.html"

    @property
    def is_there(self) -> bool:
        """Whether it was written, and nobody took it away."""
        return self._at > 0 and self.path.is_file()

    def show(self, followed: list[Followed], ended: str = "") -> None:
        """Write it, if there is anything new or nothing was written for a while. ended: why this is the last time."""
        shown, now = live.embedded(live.data(followed, self._results, self._out)), time.time()
        if shown != self._shown or ended or now - self._at >= live.BEAT:
            script = live.script(shown, now, ended)
            output.write_live(self._out, {self.path.name: live.page(), "live.js": script})
            self._shown, self._at = shown, now


def counted(followed: list[Followed]) -> str:
    """9 runs: 2 running, 5 waiting, 2 finished."""
    return listed(Counter(one.status for one in followed), STATUSES)


def _seem_over(followed: list[Followed]) -> bool:
    """Whether every run came to an end."""
    return bool(followed) and all(one.status in OVER for one in followed)


def _are_over(followed: list[Followed]) -> bool:
    """Whether nothing more will come of them either."""
    newest = max((one.changed for one in followed), default=0.0)
    return _seem_over(followed) and time.time() - newest >= PATIENCE
