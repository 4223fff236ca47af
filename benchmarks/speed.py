"""Speed of the whole training loop against bare physics, on the same threads in the same sitting.

    python benchmarks/speed.py [--robots HalfCheetah-v5 Ant-v5] [--methods i2l gail-s] [--iterations 60]

Prints one JSON object: {robot: {loop, physics, ratio, memory_mb, first_iteration_s, i2l, i2l_ratio, ...}}. `loop` is
PPO as in the paper's setting (2048 steps an iteration, 5 epochs, 32 minibatches) through the real loop, run folder and
all, in steps/s; `physics` replays the loop's own actions from its own states with nothing else, in the faster of two
ways: mj_step in threads, or mujoco.rollout. `compiling_...` is of a first start, which has its programs to compile; all
else is of a second one, which finds them kept. `i2l` is the full I2L loop and `i2l_ratio` its share of `loop`; so for
each of the methods. Let nothing else run on the machine: the ratio is what counts, and it is only fair in one sitting.
"""

import argparse
import contextlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

from onlooker import config, loop
from onlooker.envs.pool import MujocoPool, Transition
from onlooker.start import begin

ROBOTS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5")
NUM_ENVS = 32  # fewer calls for the same steps than at the defaults, which make about a tenth less
WARM = 18  # iterations before the clock starts: compiling, and I2L's first whole episodes


class Enough(Exception):
    """The clock has run long enough."""


class Tape:
    """What the pool did: its actions, and where each episode started."""

    def __init__(self, pool: MujocoPool) -> None:
        self.pool, self.play = pool, pool.step
        self.actions: list[np.ndarray] = []
        self.starts: list[dict[int, np.ndarray]] = [{} for _ in range(pool.num_envs)]  # step -> physics state

    def begin(self) -> None:
        self.actions.clear()
        for env, starts in enumerate(self.starts):
            starts.clear()
            self._keep(env)

    def step(self, action: np.ndarray) -> Transition:
        transition = self.play(action)
        self.actions.append(action)
        for env in np.flatnonzero(transition.terminated | transition.truncated):
            self._keep(int(env))
        return transition

    def _keep(self, env: int) -> None:
        state = np.empty(mujoco.mj_stateSize(self.pool.model, MujocoPool.STATE))
        mujoco.mj_getState(self.pool.model, self.pool.data[env], state, MujocoPool.STATE)
        self.starts[env][len(self.actions)] = state


def loop_speed(method: str, robot: str, iterations: int) -> dict[str, float]:
    """Steps/s of the real loop, what it took to get there, and of bare physics doing the same."""
    began = float(os.environ["BEGAN"])  # when this process was started: Python's own start counts
    times: list[float] = []
    tapes: list[Tape] = []
    make_pool = loop.pool_for

    def taped_pool(*args: Any, **kwargs: Any) -> Any:
        pool = make_pool(*args, **kwargs)
        assert isinstance(pool, MujocoPool)
        tapes.append(Tape(pool))
        pool.step = tapes[0].step  # type: ignore[method-assign]
        return pool

    def watch(iteration: int, metrics: dict[str, float]) -> None:
        times.append(time.monotonic())
        if iteration == WARM:
            tapes[0].begin()
        if iteration == WARM + iterations:
            raise Enough

    loop.pool_for = taped_pool
    made = config.make(method, env=robot, num_envs=NUM_ENVS, steps=5_000_000)  # as many snapshots as a real run has
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Enough):
        loop.train(begin(made, Path(folder) / "run"), listener=watch)
    return {
        "rate": 2048 * iterations / (times[-1] - times[WARM - 1]),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "first_iteration_s": times[0] - began,
        "physics": max(in_threads(tapes[0]), in_rollout(tapes[0])) if method == "ppo" else 0.0,
    }


def in_threads(tape: Tape) -> float:
    """Steps/s of replaying a tape through mj_step in threads."""
    pool, cores = tape.pool, len(os.sched_getaffinity(0))

    def replay(envs: range) -> None:
        for step, action in enumerate(tape.actions):
            for env in envs:
                data = pool.data[env]
                if step in tape.starts[env]:
                    mujoco.mj_setState(pool.model, data, tape.starts[env][step], MujocoPool.STATE)
                data.ctrl[:] = action[env]
                mujoco.mj_step(pool.model, data, pool.task.frame_skip)

    with ThreadPoolExecutor(cores) as threads:
        began = time.perf_counter()
        list(threads.map(replay, [range(first, pool.num_envs, cores) for first in range(cores)]))
        return len(tape.actions) * pool.num_envs / (time.perf_counter() - began)


def in_rollout(tape: Tape) -> float:
    """Steps/s of replaying a tape through mujoco.rollout, which wants pieces of one length: the episodes' median."""
    pool, end = tape.pool, len(tape.actions)
    pieces = []
    for env, starts in enumerate(tape.starts):
        steps = [*starts, end]
        pieces += [(env, first, last - first) for first, last in itertools.pairwise(steps)]
    span = max(1, int(np.median([length for _, _, length in pieces])))
    pieces = [piece for piece in pieces if piece[2] >= span]
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.empty((len(pieces), mujoco.mj_stateSize(pool.model, full)))
    scratch = mujoco.MjData(pool.model)
    for row, (env, step, _) in zip(initial, pieces):
        mujoco.mj_setState(pool.model, scratch, tape.starts[env][step], MujocoPool.STATE)
        mujoco.mj_getState(pool.model, scratch, row, full)
    actions = np.stack(tape.actions)
    controls = np.stack([actions[step : step + span, env] for env, step, _ in pieces]).astype(float)
    workers = [mujoco.MjData(pool.model) for _ in os.sched_getaffinity(0)]
    began = time.perf_counter()
    mujoco.rollout.rollout(pool.model, workers, initial, np.repeat(controls, pool.task.frame_skip, axis=1))
    return len(pieces) * span / (time.perf_counter() - began)


def measure(robot: str, methods: list[str], iterations: int) -> dict[str, float]:
    """Everything about one robot, PPO and the methods each in a fresh process, after one that compiled its programs."""

    def ask(method: str, iterations: int) -> dict[str, float]:
        command = [sys.executable, __file__, "--part", method, robot, str(iterations)]
        environment = os.environ | {"BEGAN": str(time.monotonic()), "ONLOOKER_CACHE": cache}
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        return json.loads(answer.stdout.splitlines()[-1])

    with tempfile.TemporaryDirectory() as cache:
        first = [ask(method, 1) for method in ("ppo", *methods)]
        ppo, others = ask("ppo", iterations), {method: ask(method, iterations) for method in methods}
    measured = {
        "loop": round(ppo["rate"]),
        "physics": round(ppo["physics"]),
        "ratio": round(ppo["rate"] / ppo["physics"], 3),
        "memory_mb": round(max(run["memory_mb"] for run in (ppo, *others.values()))),
        "compiling_memory_mb": round(max(run["memory_mb"] for run in first)),
        "first_iteration_s": round(max(run["first_iteration_s"] for run in (ppo, *others.values())), 1),
        "compiling_first_iteration_s": round(max(run["first_iteration_s"] for run in first), 1),
    }
    for method, run in others.items():
        measured |= {method: round(run["rate"]), f"{method}_ratio": round(run["rate"] / ppo["rate"], 3)}
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--methods", nargs="+", default=["i2l"])
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if args.part:
        method, robot, iterations = args.part
        print(json.dumps(loop_speed(method, robot, int(iterations))))
    else:
        print(json.dumps({robot: measure(robot, args.methods, args.iterations) for robot in args.robots}, indent=2))


if __name__ == "__main__":
    main()
