"""A method's parts, compiled and run side by side: on two cores learning takes as long as its longer half."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from onlooker.types import Array, Method, Metrics, Rollout


class Updater:
    """update(state, rollout, iteration, key) -> (state, metrics). The numbers are the same on any number of cores."""

    def __init__(self, method: Method) -> None:
        self.parts: list[Any] = [jax.jit(part) for part in method.parts]
        self._beside = ThreadPoolExecutor(max(1, len(self.parts) - 1), "update")  # starts threads when first used

    def __call__(self, state: Any, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[Any, Metrics]:
        """All parts start from the same state; each changes fields of its own."""

        def run(part: Callable[..., Any]) -> tuple[dict[str, Any], Metrics]:
            return jax.block_until_ready(part(state, rollout, iteration, key))

        others = [self._beside.submit(run, part) for part in self.parts[1:]]
        results = [run(self.parts[0]), *(other.result() for other in others)]
        metrics = {name: value for _, about in results for name, value in about.items()}
        for changes, _ in results:
            state = state._replace(**changes)
        return state, dict(sorted(metrics.items()))
