"""Cloning and inverse dynamics in a linear world, where the right answer is known."""

import jax
import jax.numpy as jnp
import numpy as np

from onlooker.learning import cloning, networks, normalize
from onlooker.learning.cloning import CloningOptions
from onlooker.learning.inverse import InverseOptions, inverse
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Rows, Steps

# s' = A s + B a, and an expert a = K s.
A = np.array([[0.9, 0.1], [-0.2, 0.8]], np.float32)
B = np.array([[0.5], [1.0]], np.float32)
K = np.array([[-0.6, 0.3]], np.float32)
POLICY = PolicyOptions(squash=False)
RNG = np.random.default_rng(0)


def experience(count: int) -> Steps:
    obs = RNG.standard_normal((count, 1, 2)).astype(np.float32)
    action = RNG.standard_normal((count, 1, 1)).astype(np.float32)
    nothing = np.zeros((count, 1))
    return Steps(obs, action, obs @ A.T + action @ B.T, nothing, nothing > 0, nothing > 0)


def learned(iterations: int, options: InverseOptions | None = None):
    model = inverse(2, 1, False, options or InverseOptions(memory=8192, steps=100))
    learn, state = jax.jit(model.learn), model.init(jax.random.key(0))
    for number in range(iterations):
        state, metrics = learn(state, experience(1024), jax.random.key(number))
    return model, state, metrics


def test_inverse_model_recovers_actions_and_the_clone_acts_like_the_expert():
    model, state, metrics = learned(40)
    obs = RNG.standard_normal((500, 2)).astype(np.float32) * 0.7
    action = obs @ K.T
    inferred = model.infer(state, obs, obs @ A.T + action @ B.T)
    assert float(jnp.abs(inferred - action).max()) < 0.05  # actions have a deviation of about 0.5
    assert float(metrics["inverse_error"]) < 1e-3
    actor = networks.init_actor(jax.random.key(1), 2, 1, POLICY)
    actor = actor._replace(stats=normalize.update(actor.stats, jnp.asarray(obs)))
    options, rows = CloningOptions(steps=1500), Rows(jnp.asarray(obs), inferred)
    actor, _, _ = cloning.clone(actor, cloning.init(actor, options), rows, jax.random.key(2), POLICY, options)
    new = RNG.uniform(-1, 1, (100, 2)).astype(np.float32)
    np.testing.assert_allclose(
        networks.mlp(actor.net, normalize.apply(actor.stats, new)), new @ K.T, atol=0.05
    )  # states that it was never shown


def test_memory_keeps_the_newest_transitions():
    model = inverse(2, 1, False, InverseOptions(memory=2500, steps=1))
    state = model.init(jax.random.key(0))
    steps = [experience(1024) for _ in range(4)]
    for one in steps:
        state, _ = model.learn(state, one, jax.random.key(0))
    assert int(state.seen) == 4096
    kept = {row.tobytes() for row in np.asarray(state.memory.obs)}
    seen = np.concatenate([one.obs[:, 0] for one in steps])
    assert kept == {row.tobytes() for row in seen[-2500:]}


def test_only_filled_places_of_the_memory_are_learned_from():
    """The empty rows are all zeros; if they were drawn, the mean square of the actions would be far below 1."""
    model = inverse(2, 1, False, InverseOptions(memory=100_000, steps=1, learning_rate=1e-9))
    state = model.init(jax.random.key(0))
    state = state._replace(net=jax.tree.map(jnp.zeros_like, state.net))  # predicts 0
    _, metrics = model.learn(state, experience(1024), jax.random.key(0))
    assert 0.7 < float(metrics["inverse_error"]) < 1.3


def test_cloning_compares_actions_not_draws():
    """Draws of 5 and 50 are the same action once squashed, so the policy has nothing left to learn."""
    policy, options = PolicyOptions(), CloningOptions(steps=1)
    actor = networks.init_actor(jax.random.key(0), 1, 1, policy)
    flat = jax.tree.map(jnp.zeros_like, actor.net)
    flat[-1]["b"] = jnp.array([20.0])
    actor = actor._replace(net=flat)
    rows = Rows(jnp.zeros((10, 1)), jnp.full((10, 1), 50.0))
    _, _, metrics = cloning.clone(actor, cloning.init(actor, options), rows, jax.random.key(0), policy, options)
    assert float(metrics["clone_error"]) == 0.0


def test_cloned_deviation_is_that_of_the_actions():
    """Actions scattered by 0.3 around a constant: the most likely deviation is 0.3."""
    options, policy = CloningOptions(steps=2000, learning_rate=3e-3), PolicyOptions(squash=False)
    actor = networks.init_actor(jax.random.key(0), 1, 1, policy)
    rows = Rows(jnp.zeros((4000, 1)), 0.5 + 0.3 * jax.random.normal(jax.random.key(1), (4000, 1)))
    actor, _, _ = cloning.clone(actor, cloning.init(actor, options), rows, jax.random.key(0), policy, options)
    assert 0.27 < float(jnp.exp(actor.log_std[0])) < 0.33
