"""The AIRL reward model: the optimal logit is log(p_exemplar / p_learner), so f recovers known quantities."""

import jax
import jax.numpy as jnp
import numpy as np

from onlooker.learning import networks, normalize
from onlooker.learning.airl import AIRLOptions, airl
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Rows, Steps

POLICY = PolicyOptions(squash=False, log_std_init=0.0)
PLAIN = AIRLOptions(
    steps=4, exemplars=1024, learning_rate=3e-3, positive_penalty=0.0, per_action=False, log_z=False, reward="f-log-pi"
)


def steps_of(obs: np.ndarray, action: np.ndarray) -> Steps:
    nothing = np.zeros(obs.shape[:2])
    return Steps(obs, action, obs, nothing, nothing > 0, nothing > 0)


def standard_actor(obs_size: int, action_size: int) -> networks.Actor:
    """A policy that draws from N(0, 1) whatever it sees."""
    actor = networks.init_actor(jax.random.key(0), obs_size, action_size, POLICY)
    return actor._replace(net=jax.tree.map(jnp.zeros_like, actor.net))


def fitted(exemplar_mean: float, iterations: int):
    """The learner draws a ~ N(0, 1), the exemplars a ~ N(exemplar_mean, 1), in one state."""
    model, actor, rng = airl(1, 1, POLICY, PLAIN), standard_actor(1, 1), np.random.default_rng(0)
    state = model.init(jax.random.key(1))

    def sample(key, n):
        return Rows(jnp.zeros((n, 1)), exemplar_mean + jax.random.normal(key, (n, 1)))

    fit = jax.jit(lambda state, steps, key: model.fit(state, actor, steps, sample, key))
    for number in range(iterations):
        steps = steps_of(np.zeros((64, 16, 1), np.float32), rng.standard_normal((64, 16, 1)).astype(np.float32))
        state, metrics = fit(state, steps, jax.random.key(number))
    return model, actor, state, metrics


def test_recovers_the_known_log_ratio_of_two_arms():
    """log N(a; 1, 1) / N(a; 0, 1) = a - 1/2: the reward f - log pi must be that line."""
    model, actor, state, _ = fitted(1.0, 250)
    action = np.linspace(-1.0, 2.0, 7, dtype=np.float32).reshape(7, 1, 1)
    reward = model.score(state, actor, steps_of(np.zeros_like(action), action))[:, 0]
    np.testing.assert_allclose(reward, action[:, 0, 0] - 0.5, atol=0.12)


def test_settles_at_one_half_when_the_exemplars_are_the_policy_itself():
    model, actor, state, metrics = fitted(0.0, 150)
    action = np.linspace(-1.0, 1.0, 7, dtype=np.float32).reshape(7, 1, 1)
    logit = model.score(state, actor, steps_of(np.zeros_like(action), action))[:, 0]
    np.testing.assert_allclose(jax.nn.sigmoid(logit), 0.5, atol=0.04)
    # Cross-entropy of two coins is 2 log 2.
    assert abs(float(metrics["disc_loss"]) - 2 * np.log(2)) < 0.01


def test_reward_f_alone_is_the_network_on_normalised_inputs():
    options = AIRLOptions(reward="f")
    model = airl(2, 1, PolicyOptions(), options)
    state = model.init(jax.random.key(0))
    state = state._replace(
        stats=normalize.Stats(jnp.array([1.0, 2.0, 0.5]), jnp.array([4.0, 1.0, 0.25]), jnp.array(9.0))
    )
    obs, action = np.array([[[3.0, 2.5]]], np.float32), np.array([[[0.3]]], np.float32)
    # Normalised by hand: (3-1)/2 = 1, (2.5-2)/1 = 0.5, (tanh 0.3 - 0.5)/0.5.
    x = np.array([1.0, 0.5, (np.tanh(0.3) - 0.5) / 0.5])
    for layer in state.params["net"][:-1]:
        x = np.tanh(x @ np.asarray(layer["w"]) + np.asarray(layer["b"]))
    expected = x @ np.asarray(state.params["net"][-1]["w"])
    actor = networks.init_actor(jax.random.key(0), 2, 1, PolicyOptions())
    np.testing.assert_allclose(model.score(state, actor, steps_of(obs, action)), expected[None], rtol=1e-5)
    assert "b" not in state.params["net"][-1]


def test_squashed_density_is_that_of_the_action_itself():
    """reward(squashed) - reward(gaussian) = log slope of tanh = log(1 - tanh(u)^2), per action."""
    policy = PolicyOptions()
    actor = networks.init_actor(jax.random.key(0), 1, 2, policy)
    obs, sample = np.zeros((1, 1, 1), np.float32), np.array([[[0.7, -1.2]]], np.float32)
    scores = []
    for density in ("gaussian", "squashed"):
        model = airl(1, 2, policy, AIRLOptions(reward="f-log-pi", density=density))
        scores.append(float(model.score(model.init(jax.random.key(5)), actor, steps_of(obs, sample))[0, 0]))
    expected = np.log(1 - np.tanh([0.7, -1.2]) ** 2).sum() / 2
    np.testing.assert_allclose(scores[1] - scores[0], expected, rtol=1e-4)


def test_positive_penalty_keeps_f_positive():
    """The learner's pairs are easily told apart, which drives their f far below zero unless that costs something."""
    shortfall = {}
    for penalty in (0.0, 2.0):
        model = airl(1, 1, POLICY, AIRLOptions(learning_rate=3e-3, exemplars=256, positive_penalty=penalty))
        actor, state, rng = standard_actor(1, 1), model.init(jax.random.key(1)), np.random.default_rng(0)

        def sample(key, n):
            return Rows(jnp.ones((n, 1)), jnp.ones((n, 1)))

        fit = jax.jit(lambda state, steps, key, model=model, actor=actor: model.fit(state, actor, steps, sample, key))
        for number in range(60):
            steps = steps_of(np.zeros((32, 16, 1), np.float32), rng.standard_normal((32, 16, 1)).astype(np.float32))
            state, _ = fit(state, steps, jax.random.key(number))
        shortfall[penalty] = float(jax.nn.relu(-model.score(state, actor, steps)).mean())
    assert shortfall[2.0] < 0.05
    assert shortfall[0.0] > 1.0


def test_gradient_penalty_holds_the_slope_of_f_near_one():
    """Exemplars do 3, the learner about -3: nothing but the penalty keeps f from becoming a cliff between them."""
    slope = {}
    for penalty in (0.0, 10.0):
        options = AIRLOptions(learning_rate=3e-3, positive_penalty=0.0, gradient_penalty=penalty, exemplars=300)
        model = airl(1, 1, POLICY, options)
        actor, state, rng = standard_actor(1, 1), model.init(jax.random.key(1)), np.random.default_rng(0)

        def sample(key, n):
            return Rows(jnp.zeros((n, 1)), jnp.full((n, 1), 3.0))

        fit = jax.jit(lambda state, steps, key, model=model, actor=actor: model.fit(state, actor, steps, sample, key))
        for number in range(100):
            action = (rng.standard_normal((32, 16, 1)) - 3).astype(np.float32)
            state, _ = fit(state, steps_of(np.zeros((32, 16, 1), np.float32), action), jax.random.key(number))
        action = np.array([-2.0, 2.0], np.float32).reshape(2, 1, 1)
        low, high = model.score(state, actor, steps_of(np.zeros_like(action), action))[:, 0]
        distance = 4 / np.sqrt(state.stats.var[1])  # f looks at actions in units of the learner's deviation
        slope[penalty] = float((high - low) / distance)
    assert abs(slope[10.0] - 1) < 0.1
    assert slope[0.0] > 1.5
