"""Onlooker's I2L against the `imitation` package's AIRL, side by side in one run: steps/s of whole training loops.

    python benchmarks/peers.py [--env HalfCheetah] [--iterations 60]

I2L is AIRL and then some (a critic, a buffer, episodes that are kept), so this is no favour to us. Both learn from the
shipped HalfCheetah demonstration, 2048 steps an iteration, 5 epochs of 32 minibatches, 5 discriminator steps, 64-64
networks, on both cores of the machine. `imitation` is tried in several settings and its fastest counts. It lives in a
venv of its own, `benchmarks/.peers`, made when it is first needed; the default install has no torch.
Let nothing else run on the machine. Prints one JSON object.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / ".peers"
PINS = ("torch==2.13.0", "imitation==1.0.1", "gymnasium[mujoco]==0.29.1")
# (environments, in processes of their own, torch threads)
SETTINGS = ((8, False, 1), (8, True, 1), (8, False, 2), (16, False, 1), (32, False, 1))

IMITATION = """
import json, sys, time
import gymnasium as gym
import numpy as np
import torch
from imitation.algorithms.adversarial.airl import AIRL
from imitation.data.types import Transitions
from imitation.rewards.reward_nets import BasicShapedRewardNet
from imitation.util.networks import RunningNorm
from imitation.util.util import make_vec_env
from stable_baselines3 import PPO

env, demo, envs, processes, threads, iterations = json.loads(sys.argv[1])
torch.set_num_threads(threads)
with np.load(demo) as file:
    obs, action = file["obs"], file["action"]
rows = len(obs) - 1
shown = Transitions(
    obs[:-1], action[:-1], np.array([{}] * rows), obs[1:], np.zeros(rows, bool))
pool = make_vec_env(env, rng=np.random.default_rng(0), n_envs=envs, parallel=processes)
learner = PPO(
    "MlpPolicy", pool, n_steps=2048 // envs, batch_size=64, n_epochs=5, learning_rate=3e-4, seed=0, device="cpu")
reward = BasicShapedRewardNet(
    pool.observation_space, pool.action_space, normalize_input_layer=RunningNorm, reward_hid_sizes=(64, 64))
airl = AIRL(
    demonstrations=shown, demo_batch_size=512, venv=pool, gen_algo=learner, reward_net=reward,
    n_disc_updates_per_round=5, gen_train_timesteps=2048, allow_variable_horizon=True)
airl.train(4 * 2048)
began = time.perf_counter()
airl.train(iterations * 2048)
print("rate", iterations * 2048 / (time.perf_counter() - began))
"""


def peers_python() -> str:
    """The python that has `imitation`, made ready on demand."""
    python = PEERS / "bin" / "python"
    if not (PEERS / ".ready").exists():
        print(f"making {PEERS} with {', '.join(PINS)} (once)", file=sys.stderr)
        venv.create(PEERS, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINS], check=True)
        (PEERS / ".ready").touch()
    return str(python)


def imitation_rate(env: str, demo: str, setting: tuple[int, bool, int], iterations: int) -> float:
    """Steps/s of imitation's AIRL in one setting."""
    arguments = json.dumps([env, demo, *setting, iterations])
    with tempfile.TemporaryDirectory() as folder:  # it writes its logs where it stands
        run = subprocess.run(
            [peers_python(), "-c", IMITATION, arguments], stdout=subprocess.PIPE, text=True, check=True, cwd=folder
        )
    return float(run.stdout.rpartition("rate")[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="HalfCheetah", choices=("HalfCheetah", "Hopper", "Walker2d"))
    parser.add_argument("--iterations", type=int, default=60)
    args = parser.parse_args()
    from onlooker.demos import shipped

    demo = str(shipped.path(f"{args.env.lower()}-actions"))
    # imitation needs the gymnasium of its day, whose newest robots are v4: the same models and observations.
    rates = {
        f"{envs} environments{' in processes' if apart else ''}, {threads} torch thread(s)": round(
            imitation_rate(f"{args.env}-v4", demo, (envs, apart, threads), max(4, args.iterations // 6))
        )
        for envs, apart, threads in SETTINGS
    }
    command = [sys.executable, str(HERE / "speed.py"), "--robots", f"{args.env}-v5", "--iterations"]
    speed = subprocess.run(
        [*command, str(args.iterations)], stdout=subprocess.PIPE, text=True, check=True, env=os.environ
    )
    i2l = json.loads(speed.stdout)[f"{args.env}-v5"]["i2l"]
    print(json.dumps({"imitation_airl": rates, "onlooker_i2l": i2l, "times": round(i2l / max(rates.values()), 1)}))


if __name__ == "__main__":
    main()
