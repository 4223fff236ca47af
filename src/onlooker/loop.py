"""THE loop: collect, update, log. Everything else is called from here."""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from onlooker import __version__
from onlooker.collect import Collector
from onlooker.envs.make import pool_for
from onlooker.evaluation import by_policy, evaluate, reference_returns, summarize
from onlooker.interrupts import Interrupted, stop_signals
from onlooker.learning.updating import Updater
from onlooker.policies import policy_file
from onlooker.policies.acting import HostPolicy
from onlooker.policies.policy import Policy
from onlooker.runs import checkpoint, layout
from onlooker.start import Ready

SNAPSHOTS = 20  # evenly spaced over a run
Listener = Callable[[int, dict[str, float]], None]
"""Called with (iterations done, metrics) after each iteration."""


def train(
    ready: Ready, threads: int | None = None, checkpoint_seconds: float = 30.0, listener: Listener | None = None
) -> dict[str, Any]:
    """Run, or go on with, a run to its end; the result."""
    folder, shown, method = ready
    config, budget = folder.config, folder.config.budget
    pool = pool_for(folder.world, budget.num_envs, budget.seed, threads)
    key = jax.random.key(budget.seed)
    state = method.init(jax.random.fold_in(key, 0))
    update = Updater(method, threads)
    collector = Collector(pool, budget.steps_per_iteration // budget.num_envs, budget.seed)

    start, state, saved, complaints = checkpoint.load(folder.checkpoints, state, collector.save(), folder.identity)
    for complaint in complaints:
        print(f"passed over a checkpoint: {complaint}", flush=True)
    if start:
        collector.load(saved)
    folder.start_writing(start)
    snapshots = {round(budget.iterations * share / SNAPSHOTS) for share in range(1, SNAPSHOTS + 1)}
    began = last_saved = time.monotonic()
    seconds_before = folder.seconds_so_far()
    try:
        with stop_signals() as stop:
            for iteration in range(start, budget.iterations):
                actor = HostPolicy(method.actor(state), method.policy, pool.action_low, pool.action_high)
                rollout = collector.collect(actor, iteration)
                state, learned = update(state, rollout, np.int32(iteration), jax.random.fold_in(key, iteration + 1))
                metrics = {"steps": collector.steps} | collector.summary() | jax.device_get(learned)
                metrics = {name: float(value) for name, value in metrics.items()}
                folder.log(iteration, metrics, seconds_before + time.monotonic() - began)
                if listener is not None:
                    listener(iteration + 1, metrics)
                if method.snapshot is not None and iteration + 1 in snapshots:
                    folder.snapshot(iteration + 1, method.snapshot(state, key))
                done = iteration + 1 == budget.iterations
                if stop or done or time.monotonic() - last_saved > checkpoint_seconds:
                    folder.save(iteration + 1, state, collector.save())
                    last_saved = time.monotonic()
                if stop and not done:
                    raise Interrupted
        about = {"method": config.method, "seed": budget.seed, "steps": collector.steps, "version": __version__}
        policy = Policy(jax.device_get(method.actor(state)), method.policy, config.world, about, pool.bounds)
        policy_file.save(folder.path / layout.POLICY, policy)
        judged = summarize(evaluate(folder.world, by_policy(policy)))
        result = about | collector.summary() | {f"eval_{name}": value for name, value in judged.items()}
        result |= reference_returns(folder.world, shown)
        result["hours"] = (seconds_before + time.monotonic() - began) / 3600
        folder.finish(result)
        return result
    finally:
        folder.close()
        pool.close()
