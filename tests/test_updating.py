"""The parts of an update: side by side, one after the other or compiled together, they give the same numbers."""

from typing import Any

import jax
import numpy as np
import pytest
from walking import STATES, hopper, same

from onlooker import config
from onlooker.collect import Collector
from onlooker.demos import Demos
from onlooker.learning.updating import Updater
from onlooker.policies.acting import HostPolicy

CRITIC = {"steps": 2, "batch": 32}
METHODS: dict[str, tuple[Any, list[int]]] = {  # name: (options, parts in each stage)
    "i2l": (config.make("i2l", critic=CRITIC).options, [2]),
    "i2l, every choice otherwise": (
        config.make(
            "i2l",
            critic=CRITIC | {"reward": 0.5},
            elite={"weigh": 0.0},
            discriminator={"score_first": False},
        ).options,
        [1, 2],
    ),
    "gail-s": (config.make("gail-s").options, [1, 2]),
    "ppo": (config.make("ppo").options, [1, 2]),
}


@pytest.mark.parametrize("name", METHODS)
def test_threads_change_nothing(name: str) -> None:
    (options, stages), (pool, problem) = METHODS[name], hopper()
    method = options.build(problem, None if name == "ppo" else Demos(STATES))
    assert [len(stage) for stage in method.stages] == stages
    collector, beside, fused = Collector(pool, 64, 0), Updater(method), Updater(method, threads=1)
    assert [len(stage) for stage in fused.stages] == [1] * len(stages)
    state = method.init(jax.random.key(0))
    for iteration in range(3):
        policy = HostPolicy(method.actor(state), options.policy, pool.action_low, pool.action_high)
        rollout, key = collector.collect(policy, iteration), jax.random.key(iteration)
        apart: Any = state
        told: dict[str, Any] = {}
        for stage in method.stages:
            start, changed = apart, set[str]()
            for part in reversed(stage):
                changes, about = jax.jit(part)(start, rollout, np.int32(iteration), key)
                assert not set(about) & set(told)
                assert not set(changes) & changed
                apart, told, changed = apart._replace(**changes), told | about, changed | set(changes)
        together, metrics = fused(state, rollout, np.int32(iteration), key)
        state, side_by_side = beside(state, rollout, np.int32(iteration), key)
        assert same(state, apart)
        assert same(state, together)
        assert list(side_by_side) == list(metrics) == sorted(told)
        assert same(side_by_side, metrics)
        assert same(side_by_side, told)
