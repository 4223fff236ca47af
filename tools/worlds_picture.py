"""The paper's figure 1a and 1b in one picture: the same policy, the same seed, in each of the changed worlds.

    python tools/worlds_picture.py [ROBOT] [OUT]       ant docs/images/worlds.png

Each row is one world: four moments of the expert's first 120 steps, with the return of ten whole episodes.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from onlooker.demos import shipped
from onlooker.envs.films import film_strip, side_by_side
from onlooker.envs.make import pool_for
from onlooker.envs.render import film, filming
from onlooker.envs.world import Factors
from onlooker.evaluation import by_policy, evaluate, summarize
from onlooker.policies import policy_file

WORLDS = {
    "none": "at home",
    "low-gravity": "half the gravity",
    "high-density": "twice the mass",
    "high-friction": "three times the friction",
}


def main(robot: str = "ant", out: str = "docs/images/worlds.png") -> None:
    """Draw it."""
    policy = policy_file.load(shipped.expert_path(robot))
    rows = []
    for dynamics, words in WORLDS.items():
        world = policy.world.under(dynamics, Factors())
        pool = pool_for(world, 1, 0)
        with filming(world.env, world.env_kwargs, world.resolve(), size=(240, 180)) as env:
            frames, _ = film(env, by_policy(policy)(pool), seed=1, max_steps=120)
        pool.close()
        result = summarize(evaluate(world, by_policy(policy)))
        strip = film_strip(frames, 4)
        half = strip.shape[1] // 2
        caption = f"{words}: return {result['return_mean']:,.0f}, {result['length_mean']:.0f} steps an episode"
        rows.append(side_by_side([strip[:, :half]], [strip[:, half:]], (caption, ""))[0])
    Image.fromarray(np.concatenate(rows)).save(Path(out), optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
