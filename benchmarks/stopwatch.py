"""What MuJoCo's stopwatch costs: a pool's steps with it, against the same steps without.

    python benchmarks/stopwatch.py

Prints {robot: how many times as fast without}, the median of several turns on one thread. Let nothing else run.
"""

import json
import statistics
import time

import mujoco
import numpy as np

from onlooker.envs import stopwatch
from onlooker.envs.make import make_pool

ROBOTS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5")
STEPS, TURNS = 400, 7


def seconds(robot: str) -> float:
    """How long eight robots take for some steps."""
    pool = make_pool(robot, 8, 0, threads=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, 8, pool.action_size)).astype(np.float32)
    pool.reset()
    began = time.perf_counter()
    for action in actions:
        pool.step(action)
    return time.perf_counter() - began


def gain(robot: str) -> float:
    """With it over without."""
    ratios = []
    for _ in range(TURNS):
        stop, stopwatch.stop = stopwatch.stop, lambda: mujoco.set_mjcb_time(None)  # the usual one
        ticking = seconds(robot)
        stopwatch.stop = stop
        ratios.append(ticking / seconds(robot))
    return statistics.median(ratios)


if __name__ == "__main__":
    print(json.dumps({robot: round(gain(robot), 3) for robot in ROBOTS}))
