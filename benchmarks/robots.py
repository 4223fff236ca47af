"""Speed of the robots: our pool against Gymnasium's own vector environments, and a robot from its file.

    python benchmarks/robots.py [--robots Hopper-v5 Ant-v5] [--envs 16] [--turns 12] [--steps 100]

Prints one JSON object: {robot: {pool, sync, async, ratio}}, in control steps/s of all environments together, and
`ratio` that of our pool to the faster of Gymnasium's two; and under `from a file` HalfCheetah built in, from its XML,
and their ratio. All do the same random actions, and take turns in one sitting: what else the machine does slows all.
Each speed is the median of its turns, each ratio the median of the ratios within a turn.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from onlooker.envs.make import make_env, make_pool

ROBOTS = (
    *("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5", "HumanoidStandup-v5", "Swimmer-v5"),
    *("InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Pusher-v5"),
)
Step = Callable[[np.ndarray], Any]


def in_turns(racers: dict[str, Step], actions: np.ndarray, turns: int) -> dict[str, list[float]]:
    """Control steps/s of each racer in each turn, all doing the same actions [T, N, A]. A first turn warms up."""
    speeds: dict[str, list[float]] = {name: [] for name in racers}
    for turn in range(turns + 1):
        for name, step in racers.items():
            began = time.perf_counter()
            for action in actions:
                step(action)
            if turn:
                speeds[name].append(actions.shape[0] * actions.shape[1] / (time.perf_counter() - began))
    return speeds


def random_actions(robot: str, steps: int, envs: int) -> np.ndarray:
    space: Any = make_env(robot).action_space
    return np.random.default_rng(0).uniform(space.low, space.high, (steps, envs, *space.shape)).astype(np.float32)


def ours(source: str, envs: int) -> Step:
    pool = make_pool(source, envs, 0)
    pool.reset()
    return pool.step


def beside_gymnasium(robot: str, envs: int, turns: int, steps: int) -> dict[str, float]:
    racers, theirs = {"pool": ours(robot, envs)}, []
    for mode in ("sync", "async"):
        vector = gym.make_vec(robot, envs, vectorization_mode=mode)
        vector.reset(seed=0)
        theirs.append(vector)
        racers[mode] = vector.step
    speeds = in_turns(racers, random_actions(robot, steps, envs), turns)
    for vector in theirs:
        vector.close()
    ratios = [own / max(others) for own, *others in zip(*speeds.values())]
    return {name: round(statistics.median(each)) for name, each in speeds.items()} | {
        "ratio": round(statistics.median(ratios), 2)
    }


def from_a_file(envs: int, turns: int, steps: int) -> dict[str, float]:
    """HalfCheetah's own XML, given as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cheetah.xml"
        shutil.copy(make_env("HalfCheetah-v5").unwrapped.fullpath, path)  # type: ignore[attr-defined]
        path.with_suffix(".toml").write_text("frame_skip = 5\n")
        racers = {"built in": ours("HalfCheetah-v5", envs), "from its file": ours(str(path), envs)}
        speeds = in_turns(racers, random_actions("HalfCheetah-v5", steps, envs), turns)
    built, filed = speeds.values()
    ratio = statistics.median(mine / theirs for mine, theirs in zip(filed, built))
    return {name: round(statistics.median(each)) for name, each in speeds.items()} | {"ratio": round(ratio, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="*", default=ROBOTS)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--steps", type=int, default=100, help="control steps in a turn")
    args = parser.parse_args()
    measured = {robot: beside_gymnasium(robot, args.envs, args.turns, args.steps) for robot in args.robots}
    measured["from a file"] = from_a_file(args.envs, 3 * args.turns, args.steps)
    print(json.dumps(measured, indent=2))


if __name__ == "__main__":
    main()
