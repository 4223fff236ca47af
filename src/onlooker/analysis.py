"""The paper's lower bound, after the fact: E_expert[f] >= E_buffer[f] - L * W1(expert, buffer), over pairs (s, a).

The expert's pairs come from an oracle, PPO on the true reward in the learner's own physics. Oracle, second critic and
exact distance are for measurement only: no learner ever sees them.
"""

import warnings
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from onlooker import evaluation, storage
from onlooker.config import Config
from onlooker.envs.make import pool_for
from onlooker.errors import UserError
from onlooker.learning.airl import airl
from onlooker.learning.critic import CriticOptions, critic
from onlooker.learning.rewards import RewardModel
from onlooker.learning.squashing import as_drawn, unit
from onlooker.policies import policy_file
from onlooker.runs import checkpoint, layout
from onlooker.runs.folder import RunFolder
from onlooker.start import allow_named
from onlooker.types import Steps

# A weight of 10 lets the slope pass 1 by W1 / 20; 100 holds known distances from 0.5 to 15 to within 15%.
CRITIC = CriticOptions(
    lipschitz="gradient-penalty", gradient_penalty=100, positive_penalty=0, learning_rate=1e-3, steps=400, warm_up=False
)
EXACT_ROWS = 1000  # the exact distance takes the cube of this


class Snapshot(NamedTuple):
    """The buffer and the reward model after some iterations."""

    iteration: int
    obs: np.ndarray  # [B, D]
    action: np.ndarray  # [B, A] before any tanh
    rewards: Any


def lower_bound(folder: RunFolder, oracle: RunFolder, f_from: int | None = None) -> dict[str, Any]:
    """The terms of the bound at each snapshot of an I2L run, f taken from the one of iteration `f_from` (the last).

    expert_f and buffer_f: the mean of f. w1: by a critic over pairs with a gradient penalty. exact_w1: by an optimal
    assignment of EXACT_ROWS pairs each.
    """
    config = folder.config
    squash = config.options.policy.squash
    expert_obs, expert_action = oracle_pairs(oracle, squash)
    model = _reward_model(config, expert_obs.shape[1], expert_action.shape[1])
    snapshots = read_snapshots(folder, model)
    chosen = snapshots[-1] if f_from is None else next((s for s in snapshots if s.iteration == f_from), None)
    if chosen is None:
        known = ", ".join(str(s.iteration) for s in snapshots)
        raise UserError(f"{folder.path} has no snapshot of iteration {f_from} (it has {known})")

    def mean_f(obs: np.ndarray, action: np.ndarray) -> float:
        nothing = np.zeros((len(obs), 1))
        steps = Steps(obs[:, None], action[:, None], obs[:, None], nothing, nothing > 0, nothing > 0)
        return float(model.score(chosen.rewards, None, steps).mean())  # type: ignore[arg-type]  # f needs no actor

    def pairs(obs: np.ndarray, action: np.ndarray) -> np.ndarray:
        """(state, action as f sees it) in one row."""
        return np.concatenate([obs, unit(action, squash)], -1).astype(np.float32)

    expert = pairs(expert_obs, expert_action)
    told: dict[str, Any] = {"f_from": chosen.iteration, "iteration": [s.iteration for s in snapshots]}
    told["expert_f"] = [mean_f(expert_obs, expert_action)] * len(snapshots)
    told["buffer_f"] = [mean_f(s.obs, s.action) for s in snapshots]
    told["w1"] = [critic_w1(expert, pairs(s.obs, s.action)) for s in snapshots]
    told["exact_w1"] = [exact_w1(expert, pairs(s.obs, s.action)) for s in snapshots]
    return told


def oracle_pairs(oracle: RunFolder, squash: bool) -> tuple[np.ndarray, np.ndarray]:
    """States of one deterministic episode of the oracle, and its actions as the imitator would draw them."""
    policy = policy_file.load(oracle.path / "policy.npz")
    episode = evaluation.evaluate(oracle.world, evaluation.by_policy(policy), 1)[0]
    pool = pool_for(oracle.world, 1, 0)
    pool.close()
    drawn = as_drawn(episode.action, pool.action_low, pool.action_high, squash)
    return episode.obs.astype(np.float32), drawn.astype(np.float32)


def _reward_model(config: Config, obs_size: int, action_size: int) -> RewardModel:
    """The run's discriminator, giving f alone."""
    return airl(obs_size, action_size, config.options.policy, replace(config.options.discriminator, reward="f"))


def read_snapshots(folder: RunFolder, model: RewardModel) -> list[Snapshot]:
    """What the run kept through training, in order."""
    empty = jnp.zeros((0, 0), jnp.float32)
    template = {"obs": empty, "action": empty, "rewards": model.init(jax.random.key(0))}
    found = []
    for path in sorted((folder.path / "snapshots").glob("*.npz")):
        arrays, meta = storage.load_arrays(path)
        tree = checkpoint.unflatten(template, arrays, "", same_shapes=False)
        found.append(Snapshot(meta["iteration"], tree["obs"], tree["action"], tree["rewards"]))
    if not found:
        raise UserError(f"{folder.path} has no snapshots to analyse")
    return found


def critic_w1(expert: np.ndarray, own: np.ndarray) -> float:
    """W1 between two clouds [n, S] and [m, S] by a critic whose gradient is held near 1."""
    made, cloud = critic(expert, CRITIC), jnp.asarray(own)

    def sample(key: jax.Array, n: int) -> jax.Array:
        return cloud[jax.random.randint(key, (n,), 0, len(cloud))]

    @jax.jit
    def measure(key: jax.Array) -> jax.Array:
        state, _ = made.fit(made.init(key), sample, key, sample)
        return made.g(state.net, jnp.asarray(expert)).mean() - made.g(state.net, cloud).mean()

    return float(measure(jax.random.key(0)))


def exact_w1(one: np.ndarray, other: np.ndarray, rows: int = EXACT_ROWS) -> float:
    """W1 between as many rows of each cloud, with Euclidean cost: the mean cost of their best assignment."""
    rng, count = np.random.default_rng(0), min(rows, len(one), len(other))
    one, other = (cloud[rng.choice(len(cloud), count, replace=False)] for cloud in (one, other))
    cost = cdist(one, other)
    return float(cost[linear_sum_assignment(cost)].mean())


def analyze(results: Path, f_from: int | None = None, trust: bool = False) -> list[Path]:
    """Write `analysis.json` into every finished I2L run under `results` that has an oracle beside it.

    A broken run is named in a warning and passed over; where nothing else is left, its complaint is raised. `trust`:
    import the code that the runs name.
    """
    # glob follows links to folders, as the report does; only what finished is opened, so nothing else need be whole.
    found = sorted(glob(f"**/{layout.RESULT}", root_dir=results, recursive=True))
    finished: list[RunFolder] = []
    broken: list[UserError] = []
    for name in found:
        path = (results / name).parent
        try:
            if trust:
                allow_named(path)
            finished.append(RunFolder.open(path))
        except UserError as failure:
            broken.append(failure)
    oracles = {repr(run.config.world): run for run in finished if run.config.method == "ppo"}
    written = []
    for run in finished:
        oracle = oracles.get(repr(run.config.world))
        if run.config.method != "i2l" or oracle is None:
            continue
        try:
            told = {"oracle": oracle.path.name, "lower_bound": lower_bound(run, oracle, f_from)}
        except (UserError, LookupError, TypeError, ValueError) as failure:  # whatever its files hold
            broken.append(UserError(f"{run.path} can't be analysed: {failure}"))
            continue
        storage.write_json(run.path / layout.ANALYSIS, told)
        written.append(run.path)
    if broken and not written:
        raise broken[0]
    for complaint in broken:
        warnings.warn(f"passed over: {complaint}", stacklevel=2)
    return written
