"""The GAIL reward model: on known occupancies its logit is the closed form, and it looks at nothing it may not see."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from onlooker.errors import UserError
from onlooker.learning import networks
from onlooker.learning.gail import Discriminator, GAILOptions, gail, reward_of
from onlooker.learning.rewards import RewardModel
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Rows, Steps

# A chain of four states, one-hot. The expert's occupancy and the learner's:
EXPERT, LEARNER = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
ACTOR = networks.init_actor(jax.random.key(0), 4, 1, PolicyOptions())
PLAIN = GAILOptions(learning_rate=3e-3, gradient_penalty=0.0, normalize="none", reward="logit")


def steps_of(obs: np.ndarray, action: np.ndarray, next_obs: np.ndarray, terminated: np.ndarray | None = None) -> Steps:
    falls = np.zeros(obs.shape[:2], bool) if terminated is None else terminated
    return Steps(obs, action, next_obs, np.zeros(obs.shape[:2]), falls, falls & False)


def one_hot(states: np.ndarray) -> np.ndarray:
    return np.eye(4, dtype=np.float32)[states]


def model_of(sees, options: GAILOptions = PLAIN) -> RewardModel:
    return gail(sees, (4, 1), lambda obs: obs, True, 0.9, options)


def fitted(sees, options: GAILOptions = PLAIN, falls: float = 0.0, iterations: int = 150):
    """Trained on independent draws of both occupancies; a share `falls` of the learner's steps ends in a fall."""
    model, rng = model_of(sees, options), np.random.default_rng(0)
    state = model.init(jax.random.key(1))

    def sample(key, n):
        keys = jax.random.split(key, 3)
        obs, after = (jax.random.choice(k, 4, (n,), p=jnp.asarray(EXPERT)) for k in keys[:2])
        return Rows(jnp.eye(4)[obs], jax.random.normal(keys[2], (n, 1)), jnp.eye(4)[after], jnp.zeros(n))

    fit = jax.jit(lambda state, steps, key: model.fit(state, ACTOR, steps, sample, key))
    for number in range(iterations):
        obs, after = (one_hot(rng.choice(4, (64, 32), p=LEARNER)) for _ in range(2))
        action = rng.standard_normal((64, 32, 1)).astype(np.float32)
        steps = steps_of(obs, action, after, rng.random((64, 32)) < falls)
        state, metrics = fit(state, steps, jax.random.key(number))
    return model, state, metrics


def scores(model: RewardModel, state: Discriminator, obs, after, action=0.0) -> np.ndarray:
    steps = steps_of(one_hot(obs)[:, None], np.full((len(obs), 1, 1), action, np.float32), one_hot(after)[:, None])
    return np.asarray(model.score(state, ACTOR, steps))[:, 0]


def test_logit_over_states_is_the_log_ratio_of_the_occupancies():
    model, state, _ = fitted("states")
    everywhere = np.arange(4)
    np.testing.assert_allclose(scores(model, state, everywhere, everywhere), np.log(EXPERT / LEARNER), atol=0.12)


def test_logit_over_pairs_is_the_log_ratio_of_the_pair_occupancies():
    """The two states of a pair are independent here, so the log-ratios add."""
    model, state, _ = fitted("state pairs", iterations=250)
    obs, after = np.divmod(np.arange(16), 4)
    ratio = np.log(EXPERT / LEARNER)
    np.testing.assert_allclose(scores(model, state, obs, after), ratio[obs] + ratio[after], atol=0.35)


def test_what_each_sees_changes_its_reward_and_nothing_else_does():
    obs, after = np.array([0, 1, 2]), np.array([1, 2, 3])
    for sees, by_action, by_successor in (
        ("states", False, False),
        ("state pairs", False, True),
        ("actions", True, False),
    ):
        model = model_of(sees)
        state = model.init(jax.random.key(3))
        base = scores(model, state, obs, after)
        assert np.array_equal(base, scores(model, state, obs, after, action=1.0)) is not by_action
        assert np.array_equal(base, scores(model, state, obs, after - 1)) is not by_successor


@pytest.mark.parametrize(
    ("form", "expected"),
    [("softplus", -np.log(1 - 0.8)), ("log-d", np.log(0.8)), ("logit", np.log(0.8) - np.log(0.2))],
)
def test_reward_forms(form, expected):
    """D = 0.8 has the logit log 4."""
    assert float(reward_of(jnp.log(4.0), form)) == pytest.approx(expected, rel=1e-5)


def test_actions_are_seen_as_the_environment_gets_them():
    """Far out in the tail of tanh two draws are one action."""
    model = model_of("actions")
    state = model.init(jax.random.key(3))
    obs = np.array([0])
    assert scores(model, state, obs, obs, 20.0) == scores(model, state, obs, obs, 30.0)
    assert scores(model, state, obs, obs, 0.2) != scores(model, state, obs, obs, 0.3)


def test_gradient_penalty_holds_the_slope_near_one():
    options = GAILOptions(learning_rate=3e-3, gradient_penalty=10.0, normalize="none", reward="logit")
    model, state, _ = fitted("states", options)
    values = scores(model, state, np.arange(4), np.arange(4))
    # Between two corners of the one-hot cube lie sqrt 2: without the penalty the logits are 2.8 apart.
    assert values[3] - values[0] < 1.1 * np.sqrt(2)


def test_a_fall_is_paid_for_with_absorbing_states():
    """An expert that never falls: the absorbing state is the learner's alone, so its logit is low and falling costs."""
    options = GAILOptions(learning_rate=3e-3, gradient_penalty=0.0, normalize="none", reward="logit", absorbing=True)
    model, state, _ = fitted("states", options, falls=0.02)
    obs, action = one_hot(np.array([[3, 3]])), np.zeros((1, 2, 1), np.float32)
    falling = model.score(state, ACTOR, steps_of(obs, action, obs, np.array([[False, True]])))[0]
    absorbed = float(networks.value(state.net, jnp.zeros(5).at[4].set(1.0)))
    assert absorbed < -2
    # gamma / (1 - gamma) = 9 steps in the absorbing state come on top of the last step's own reward.
    assert float(falling[1] - falling[0]) == pytest.approx(9 * absorbed, rel=1e-4)


def test_absorbing_for_ever_needs_a_discount():
    undiscounted = gail("states", (4, 1), lambda obs: obs, True, 1.0, PLAIN)
    assert undiscounted.init(jax.random.key(0)).net[0]["w"].shape == (4, 64)
    with pytest.raises(UserError, match="discount below 1"):
        gail("states", (4, 1), lambda obs: obs, True, 1.0, GAILOptions(absorbing=True))


def test_normalised_by_both_sees_the_exemplars_too():
    """Exemplars at 5 +- 1, the learner at -5 +- 1: the statistics of both have mean 0 and variance 26."""
    model = gail("states", (1, 1), lambda obs: obs, True, 0.9, GAILOptions(normalize="both"))
    rng = np.random.default_rng(0)
    obs = (rng.standard_normal((64, 32, 1)) - 5).astype(np.float32)
    steps = steps_of(obs, obs, obs)
    state, _ = model.fit(
        model.init(jax.random.key(0)),
        networks.init_actor(jax.random.key(0), 1, 1, PolicyOptions()),
        steps,
        lambda key, n: Rows(5 + jax.random.normal(key, (n, 1)), None, None, jnp.zeros(n)),
        jax.random.key(1),
    )
    assert float(state.stats.mean[0]) == pytest.approx(0, abs=0.2)
    assert float(state.stats.var[0]) == pytest.approx(26, rel=0.05)
