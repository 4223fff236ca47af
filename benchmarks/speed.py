"""Speed of the whole training loop against bare physics, on the same threads in the same sitting.

    python benchmarks/speed.py [--robots HalfCheetah-v5 Ant-v5] [--iterations 60]

Prints one JSON object: {robot: {loop, physics, ratio, memory_mb, first_iteration_s, i2l, i2l_ratio}}. `loop` is PPO as
in the paper's setting (2048 steps an iteration, 5 epochs, 32 minibatches) through the real loop, run folder and all, in
steps/s; `physics` replays the very same actions from the same states with nothing else, in the faster of two ways:
mj_step in threads, or mujoco.rollout. `i2l` is the full I2L loop and `i2l_ratio` its share of `loop`. Let nothing else
run on the machine: the ratio is what counts, and it is only fair in one sitting.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROBOTS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5")
WARM = 12  # iterations before the clock starts: compiling, and I2L's first whole episodes


def loop_speed(method: str, robot: str, iterations: int) -> dict[str, float]:
    """Steps/s of the real loop, and what it took to get there. Runs in a process of its own."""
    began = float(os.environ["BEGAN"])  # when this process was started: Python's own start counts
    from onlooker import config, loop
    from onlooker.start import begin

    times = []
    made = config.make(method, env=robot, steps=(WARM + iterations) * 2048)
    with tempfile.TemporaryDirectory() as folder:
        run = begin(made, Path(folder) / "run")
        loop.train(run, watch=lambda iteration, metrics: times.append(time.monotonic()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = 2048 * (len(times) - WARM) / (times[-1] - times[WARM - 1])
    return {"rate": rate, "memory_mb": memory, "first_iteration_s": times[0] - began}


def physics_speed(robot: str, iterations: int) -> float:
    """Steps/s of bare physics, replaying what a policy did: the faster of threads and mujoco.rollout."""
    import mujoco
    import mujoco.rollout
    import numpy as np

    from onlooker.envs import make_pool
    from onlooker.envs.pool import MujocoPool

    pool = make_pool(robot, 16, 0)
    assert isinstance(pool, MujocoPool)
    pool.reset()
    rng = np.random.default_rng(0)
    length = 2048 * iterations // 16
    size = mujoco.mj_stateSize(pool.model, MujocoPool.STATE)
    actions = np.clip(rng.standard_normal((length, 16, pool.action_size)) * 0.5, -1, 1)
    starts: list[dict[int, np.ndarray]] = [{} for _ in range(16)]  # state after each reset, by step

    def keep(env: int, step: int) -> None:
        starts[env][step] = np.empty(size)
        mujoco.mj_getState(pool.model, pool.data[env], starts[env][step], MujocoPool.STATE)

    for env in range(16):
        keep(env, 0)
    for step in range(length):
        transition = pool.step(actions[step])
        for env in np.flatnonzero(transition.terminated | transition.truncated):
            keep(int(env), step + 1)

    def replay(envs: range) -> None:
        for step in range(length):
            for env in envs:
                data = pool.data[env]
                if step in starts[env]:
                    mujoco.mj_setState(pool.model, data, starts[env][step], MujocoPool.STATE)
                data.ctrl[:] = actions[step, env]
                mujoco.mj_step(pool.model, data, pool.task.frame_skip)

    cores = len(os.sched_getaffinity(0))
    shares = [range(first, 16, cores) for first in range(cores)]
    with ThreadPoolExecutor(cores) as threads:
        began = time.perf_counter()
        list(threads.map(replay, shares))
        in_threads = length * 16 / (time.perf_counter() - began)

    # mujoco.rollout: every episode is one item of the batch, cut or padded to the longest piece of one length.
    pieces = [(env, step) for env in range(16) for step in starts[env]]
    span = max(1, int(np.median([_piece_length(starts[env], step, length) for env, step in pieces])))
    pieces = [(env, step) for env, step in pieces if _piece_length(starts[env], step, length) >= span]
    full = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.empty((len(pieces), mujoco.mj_stateSize(pool.model, full)))
    scratch = mujoco.MjData(pool.model)
    for row, (env, step) in zip(initial, pieces):
        mujoco.mj_setState(pool.model, scratch, starts[env][step], MujocoPool.STATE)
        mujoco.mj_getState(pool.model, scratch, row, full)
    controls = np.stack([actions[step : step + span, env] for env, step in pieces])
    controls = np.repeat(controls, pool.task.frame_skip, axis=1)
    workers = [mujoco.MjData(pool.model) for _ in range(cores)]
    began = time.perf_counter()
    mujoco.rollout.rollout(pool.model, workers, initial, controls)
    rolled = len(pieces) * span / (time.perf_counter() - began)
    pool.close()
    return max(in_threads, rolled)


def _piece_length(starts: dict[int, object], step: int, end: int) -> int:
    return min([later for later in starts if later > step], default=end) - step


def measure(robot: str, iterations: int) -> dict[str, float]:
    """Everything about one robot, each part in a fresh process, physics before and after the loops."""

    def ask(*words: str) -> dict:
        began = time.monotonic()
        command = [sys.executable, __file__, "--part", *words, robot, str(iterations)]
        environment = os.environ | {"BEGAN": str(began)}
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return json.loads(answer.stdout.splitlines()[-1])

    before, ppo, i2l, after = ask("physics"), ask("ppo"), ask("i2l"), ask("physics")
    physics = max(before["rate"], after["rate"])
    return {
        "loop": round(ppo["rate"]),
        "physics": round(physics),
        "ratio": round(ppo["rate"] / physics, 3),
        "memory_mb": round(max(ppo["memory_mb"], i2l["memory_mb"])),
        "first_iteration_s": round(ppo["first_iteration_s"], 1),
        "i2l": round(i2l["rate"]),
        "i2l_ratio": round(i2l["rate"] / ppo["rate"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if args.part:
        part, robot, iterations = args.part[0], args.part[1], int(args.part[2])
        if part == "physics":
            answer = {"rate": physics_speed(robot, iterations)}
        else:
            answer = loop_speed(part, robot, iterations)
        print(json.dumps(answer))
    else:
        print(json.dumps({robot: measure(robot, args.iterations) for robot in args.robots}, indent=2))


if __name__ == "__main__":
    main()
