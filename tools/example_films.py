"""The films of docs/examples.md: a recording on its robot, beside what learned from it.

    python tools/example_films.py RECORDING ENV RUN OUT.gif "what the left one is" "what the right one is"

The recording is a file, or a shipped expert's name: then that expert is filmed in the run's own world.
"""

import sys
from pathlib import Path

import numpy as np

from onlooker.commands.video import at_fps, film_policy
from onlooker.demos import replay, shipped, simulated
from onlooker.envs.films import side_by_side, write_film
from onlooker.trained import load

SECONDS, SKIP, SMALLER = 6, 2, 2  # of a film; seconds of its start that are cut off; of each side, one pixel in so many


def main(recording: str, env: str, run: str, out: str, left: str, right: str) -> None:
    """Film both and put them side by side."""
    policy = load(run)
    own, fps, _ = film_policy(policy, policy.world, 0, round(60 * (SECONDS + SKIP)))
    if recording in shipped.ROBOTS:
        shown, their_fps, _ = film_policy(load(recording), policy.world, 0, round(60 * (SECONDS + SKIP)))
    else:
        shown, their_fps = replay.film(simulated.load(recording, env), env)
    first, last = round(SKIP * fps), round((SKIP + SECONDS) * fps)

    def side(film: list[np.ndarray]) -> list[np.ndarray]:
        return [frame[::SMALLER, ::SMALLER] for frame in film[first:last]]

    frames = side_by_side(side(at_fps(shown, their_fps, fps)), side(own), (left, right))
    write_film(Path(out), frames, fps)


if __name__ == "__main__":
    main(*sys.argv[1:])
