"""I2L's exemplars: what the buffer's order makes of an episode's length."""

import jax
import jax.numpy as jnp
import pytest
from test_elite import HORIZON, episodes, g

from onlooker.learning.critic import Critic, CriticState
from onlooker.learning.exemplars import EliteOptions, from_elite

DISTANCE = 4.0


def knowing() -> Critic:
    """A critic whose g is the state itself, and whose estimate of the distance is known."""
    return Critic(
        init=lambda key: CriticState([], (), jnp.zeros((), jnp.int32)),
        g=lambda net, states: g(states),
        fit=lambda state, own, key, new: (state, {"wasserstein": jnp.float32(DISTANCE)}),
    )


@pytest.mark.parametrize(
    ("living", "length", "score"),
    [
        (0.0, 2, 2.0),  # the leap's 1 + 1 beats 6 steps of 0.1
        (0.05, 2, 2 * 1.2),  # 2.4 against 6 * 0.3
        (0.15, 6, 6 * 0.7),  # 4.2 against 2 * 1.6
    ],
)
def test_each_state_lived_counts_a_share_of_the_distance(living: float, length: int, score: float) -> None:
    assert HORIZON >= 6
    options = EliteOptions(capacity=1, living=living, weigh=0.0)
    buffer = from_elite(knowing(), lambda obs: obs, (HORIZON, 1, 1), options)
    state = buffer.init(jax.random.key(0))
    leap, standing = episodes([1, 1]), episodes([0.1] * 6)
    state, metrics = buffer.absorb(state, leap, jnp.int32(0), jax.random.key(0))
    assert float(metrics["elite_score_min"]) == 2.0  # no buffer yet, so no distance from it
    state, metrics = buffer.absorb(state, standing, jnp.int32(1), jax.random.key(0))
    assert int(state.elite.length[0]) == length
    assert float(metrics["elite_score_min"]) == pytest.approx(score)
