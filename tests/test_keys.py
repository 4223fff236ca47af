"""No random key is used twice: what is drawn with the same key is not independent."""

from collections import Counter
from typing import Any

import jax
import numpy as np
import pytest
from test_methods import DEMO, SMALL
from walking import hopper, walk

from onlooker import config
from onlooker.types import Rollout

DRAWING = ("uniform", "normal", "permutation", "randint")
# GAIfO and GAIL-SA are GAIL-S with other eyes; BC is the second half of BCO.
METHODS: dict[str, dict[str, Any]] = {
    "bco": SMALL["bco"],
    "airl": {"discriminator": {"exemplars": 64, "normalize": "both"}},
    "gail-s": {"discriminator": {"normalize": "both"}},
    "i2l": SMALL["i2l"] | {"discriminator": {"exemplars": 64, "gradient_penalty": 1.0}},
    "ppo": {},
}


@pytest.mark.parametrize("name", METHODS)
def test_every_draw_of_an_iteration_has_a_key_of_its_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"ppo": {"epochs": 2, "minibatches": 2}} if name != "bco" else {}
    options = config.make(name, **METHODS[name] | short).options
    pool, problem = hopper()
    method = options.build(problem, None if name == "ppo" else DEMO)
    drawn: Counter[tuple[int, ...]] = Counter()

    def note(data: np.ndarray) -> None:
        drawn.update(map(tuple, data.reshape(-1, 2).tolist()))

    def noting(draw: Any) -> Any:
        def noted(key: jax.Array, *args: Any, **kwargs: Any) -> Any:
            jax.debug.callback(note, jax.random.key_data(key))
            return draw(key, *args, **kwargs)

        return noted

    for function in DRAWING:
        monkeypatch.setattr(jax.random, function, noting(getattr(jax.random, function)))

    def only_the_last(rollout: Rollout) -> Rollout:
        jax.effects_barrier()
        drawn.clear()
        return rollout

    walk(pool, options, method, 3, only_the_last)
    jax.effects_barrier()
    shared = [count for count in drawn.values() if count > 1]
    # Policy and value learn from the same minibatches, on purpose: an epoch's order is drawn once for each of them.
    assert shared == ([2, 2] if "ppo" in short else [])
    assert len(drawn) >= 2
