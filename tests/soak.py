"""Runs that are killed again and again end with the same bits, and a long run takes no more memory than a short one.

python tests/soak.py --kills 100 --grid-kills 20 --steps 2e7        (make soak; takes an hour or more)
"""

import argparse
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from onlooker.methods import METHODS
from onlooker.storage import load_arrays

ONLOOKER = [sys.executable, "-m", "onlooker"]
SIZES = ["--env", "Hopper-v5", "--steps", "20480", "--num-envs", "4", "--steps-per-iteration", "512"]
GRID = """
[[cells]]
method = ["ppo", "i2l"]
env = "Hopper-v5"
steps = 20480
num_envs = 4
steps_per_iteration = 512
seed = [0, 1]
"""


def bits(run: Path) -> tuple[bytes, dict[str, bytes]]:
    """All numbers of a finished run."""
    arrays, _ = load_arrays(run / "policy.npz")
    return (run / "metrics.csv").read_bytes(), {name: array.tobytes() for name, array in arrays.items()}


def start(words: list[str], cwd: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [*ONLOOKER, *words], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def kill_runs(kills: int, rng: random.Random, folder: Path) -> None:
    """Kill runs of every method in turn at random moments, each until it is finished between two kills."""
    done, seconds = 0, dict[str, float]()
    for number in itertools.count():
        for method in METHODS:
            whole, broken = folder / f"{method}-whole", folder / f"{method}-{number}"
            if not whole.exists():  # the first of two compiles; how long one takes is what the second takes
                for out in (folder / f"{method}-first", whole):
                    began = time.monotonic()
                    assert start(["train", method, *SIZES, "--out", str(out)], folder).wait() == 0, method
                    seconds[method] = time.monotonic() - began
            words = ["train", method, *SIZES, "--checkpoint-seconds", "0.1", "--out", str(broken)]
            while not (broken / "result.json").exists():
                process = start(words, folder)
                try:
                    process.wait(rng.uniform(0.3, 1.0) * seconds[method])
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    done += 1
                begun = (broken / "config.json").exists()
                if not begun:
                    shutil.rmtree(broken, ignore_errors=True)
                else:
                    words = ["train", "--resume", str(broken), "--checkpoint-seconds", "0.1"]
            assert bits(whole) == bits(broken), f"{method} after kill -9 is another run"
            shutil.rmtree(broken)
            print(f"{method}: the same bits; {done} kills so far", flush=True)
            if done >= kills:
                return


def kill_grid(kills: int, rng: random.Random, folder: Path) -> None:
    """Kill workers and the driver of a grid."""
    (folder / "g.toml").write_text(GRID)
    assert start(["grid", "g.toml", "--out", "whole"], folder).wait() == 0
    done = 0
    while done < kills:
        out = folder / "broken"
        shutil.rmtree(out, ignore_errors=True)
        while True:
            driver = start(["grid", "g.toml", "--out", "broken"], folder)
            try:
                if driver.wait(rng.uniform(8, 40)) == 0:
                    break
            except subprocess.TimeoutExpired:
                workers = [pid for pid in children(driver.pid) if "ray::" in command(pid)]
                victim = rng.choice([driver.pid, *workers])
                os.kill(victim, signal.SIGKILL)
                done += 1
                if victim == driver.pid:
                    os.killpg(driver.pid, signal.SIGKILL)
                    driver.wait()
                elif driver.wait() == 0:
                    break
        for cell in sorted(path.name for path in (folder / "whole").iterdir() if path.is_dir()):
            assert bits(folder / "whole" / cell) == bits(out / cell), cell
        print(f"grid: the same bits; {done} kills so far", flush=True)


def children(pid: int) -> list[int]:
    """All processes below one."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [below for child in map(int, found) for below in (child, *children(child))]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def watch_memory(steps: int, folder: Path) -> None:
    """Resident memory of a run after a tenth of its steps, and at its end; with the cheapest physics that there is, and
    little learning, as it is the steps that count."""
    run = folder / "long"
    np.savez(folder / "demo.npz", obs=np.random.default_rng(0).normal(0, 0.1, (1000, 4)))
    world = ["--env", "InvertedPendulum-v5", "--demo", "demo.npz"]
    brief = ["--ppo.epochs", "1", "--ppo.minibatches", "4", "--critic.steps", "2", "--discriminator.steps", "1"]
    process = start(["train", "i2l", *world, *brief, "--steps", str(steps), "--out", str(run)], folder)
    at: dict[int, float] = {}
    while process.poll() is None:
        time.sleep(2)
        try:
            made = float((run / "timing.csv").read_text().splitlines()[-1].split(",")[1])
            resident = float(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError, ValueError):
            continue
        at.setdefault(int(made >= steps / 10), resident)
        if made < steps * 0.99:
            last = resident
    growth = last / at[1] - 1
    print(
        f"resident after {steps / 10:,.0f} steps {at[1] / 2**20:.0f} MB, at the end {last / 2**20:.0f} MB", flush=True
    )
    assert growth < 0.05, f"memory grew by {growth:.1%}"


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--kills", type=int, default=100)
    words.add_argument("--grid-kills", type=int, default=20)
    words.add_argument("--steps", type=float, default=2e7)
    words.add_argument("--seed", type=int, default=0)
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if given.kills:
            kill_runs(given.kills, random.Random(given.seed), Path(scratch))
        if given.grid_kills:
            kill_grid(given.grid_kills, random.Random(given.seed), Path(scratch))
        if given.steps:
            watch_memory(int(given.steps), Path(scratch))
