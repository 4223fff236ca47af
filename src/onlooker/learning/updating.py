"""A method's parts, compiled and run side by side: on two cores learning takes as long as its longer half."""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import jax

from onlooker.learning.compiled import give_back_memory
from onlooker.types import Array, Method, Metrics, Part, Rollout


class Updater:
    """update(state, rollout, iteration, key) -> (state, metrics). The numbers are the same on any number of threads.

    On one thread the parts of a stage are compiled together, which saves doing twice what they have in common.
    """

    def __init__(self, method: Method, threads: int | None = None) -> None:
        stages = method.stages if threads != 1 else [(together(stage),) for stage in method.stages]
        self.stages: list[list[Any]] = [[jax.jit(part) for part in stage] for stage in stages]
        self._beside = ThreadPoolExecutor(max(map(len, stages)), "update")  # starts threads when first used
        self._is_compiled = False

    def __call__(self, state: Any, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[Any, Metrics]:
        """All parts of a stage start from the same state; each changes fields of its own."""
        metrics: Metrics = {}

        def run(part: Part, state: Any) -> tuple[dict[str, Any], Metrics]:
            if not self._is_compiled:
                give_back_memory()
            return jax.block_until_ready(part(state, rollout, iteration, key))

        for first, *others in self.stages:
            beside = [self._beside.submit(run, part, state) for part in others]
            if not self._is_compiled:  # the first time one after the other: two at once take twice the memory
                wait(beside)
            for changes, about in [run(first, state), *(other.result() for other in beside)]:
                state = state._replace(**changes)
                metrics |= about
        self._is_compiled = True
        return state, dict(sorted(metrics.items()))


def together(stage: tuple[Part, ...]) -> Part:
    """One part that does what all of these do."""

    def all_of_them(*seen: Any) -> tuple[dict[str, Any], Metrics]:
        results = [part(*seen) for part in stage]
        changes = {field: value for changed, _ in results for field, value in changed.items()}
        return changes, {name: value for _, about in results for name, value in about.items()}

    return all_of_them
