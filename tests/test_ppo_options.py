"""PPO's options for far sight and for robots with many motors, by hand."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_ppo import KEY, POLICY, flat, rollout

from onlooker.learning import networks, normalize, ppo
from onlooker.learning.ppo import PPOOptions, Valuing
from onlooker.policies.actor import PolicyOptions


def test_shared_noise_is_one_over_the_root_of_the_motors() -> None:
    shared = PolicyOptions(share_noise=True, log_std_init=0.0)
    for motors, expected in ((1, 0.0), (4, -np.log(2)), (8, -1.0397208)):
        log_std = networks.init_actor(KEY, 3, motors, shared).log_std
        np.testing.assert_allclose(log_std, np.full(motors, expected), atol=1e-6)
    assert float(networks.init_actor(KEY, 3, 8, PolicyOptions(log_std_init=-0.5)).log_std[0]) == -0.5


def test_a_schedule_of_shared_noise_falls_to_its_share_of_the_end() -> None:
    shared = PolicyOptions(hidden=(16,), share_noise=True, log_std_init=0.0)
    options = PPOOptions(epochs=1, minibatches=1, log_std_end=-2.0)
    acting, valuing = ppo.init(KEY, 3, 2, shared, options)
    steps = rollout()
    improve = jax.jit(partial(ppo.improve_policy, policy=shared, options=options))
    better, _ = improve(acting, valuing, steps, steps.env_reward, np.float32(0.5), KEY)
    np.testing.assert_allclose(better.actor.log_std, -1.0 - np.log(2) / 2, atol=1e-6)


@pytest.mark.parametrize(("kl", "factor"), [(0.021, 1 / 1.5), (0.019, 1), (0.006, 1), (0.004, 1.5), (0.0, 1.5)])
def test_the_rate_follows_the_kl(kl: float, factor: float) -> None:
    options = PPOOptions(target_kl=0.01)
    now = jnp.float32(1e-4)
    assert float(ppo.adapted(now, jnp.float32(kl), 0.5, options)) == pytest.approx(1e-4 * factor, rel=1e-6)
    assert float(ppo.adapted(jnp.float32(ppo.RATES[1]), jnp.float32(0), 0.5, options)) == pytest.approx(ppo.RATES[1])
    annealed = PPOOptions(target_kl=0.02, anneal=True)
    assert float(ppo.adapted(now, jnp.float32(kl), 0.5, annealed)) == pytest.approx(1e-4 * factor, rel=1e-6)


def improved_values(**chosen: Any) -> tuple[Valuing, Valuing]:
    options = PPOOptions(epochs=1, minibatches=1, learning_rate=0.0, discount=0.9, **chosen)
    acting, valuing = ppo.init(KEY, 3, 2, POLICY, options)
    steps = rollout()
    reward = 100 + steps.env_reward
    improve = jax.jit(partial(ppo.improve_value, policy=POLICY, options=options))
    return valuing, improve(acting, valuing, steps, reward, np.float32(0), KEY)[0]


def test_new_units_leave_the_values_as_they_are() -> None:
    before, after = improved_values(normalize_values=True)  # it learns nothing, but looks at targets of about 100
    obs = np.random.default_rng(3).standard_normal((20, 3)).astype(np.float32)
    np.testing.assert_allclose(ppo.estimated(after, obs), ppo.estimated(before, obs), rtol=1e-4, atol=1e-3)
    assert after.stats is not None
    assert float(after.stats.mean[0]) > 50
    assert not np.array_equal(flat(before.layers), flat(after.layers))


def test_units_are_those_of_the_targets() -> None:
    """One linear layer, a hundred targets of mean 10 and deviation 2: all by hand."""
    target = jnp.asarray(10 + 2 * np.tile([-1.0, 1.0], 50), jnp.float32)
    layer = {"w": jnp.ones((1, 1)), "b": jnp.zeros(1)}
    new = ppo.renormalized(Valuing([layer], None, normalize.init(1)), target)
    assert new.stats is not None
    np.testing.assert_allclose([new.stats.mean[0], new.stats.var[0]], [10, 4], rtol=1e-6)
    np.testing.assert_allclose([new.layers[0]["w"][0, 0], new.layers[0]["b"][0]], [0.5, -5], rtol=1e-6)


def test_a_fall_costs_the_mean_reward_for_ever() -> None:
    terminated = np.zeros((8, 2), bool)
    terminated[3, 1] = True
    steps = rollout(terminated=terminated)
    reward = np.full((8, 2), 2.0, np.float32)

    def advantages(fall: float) -> np.ndarray:
        options = PPOOptions(discount=0.9, gae_lambda=0.0, fall=fall)
        acting, valuing = ppo.init(KEY, 3, 2, POLICY, options)
        rows = jax.jit(lambda: ppo.look_back(acting.actor, valuing, steps, reward, POLICY, options))()
        return np.asarray(rows.advantage).reshape(8, 2)

    cost = advantages(0.0) - advantages(1.5)
    assert cost[3, 1] == pytest.approx(0.9 * 1.5 * 2 / 0.1, rel=1e-5)  # from the next step on, 1.5 times 2 a step
    cost[3, 1] = 0
    np.testing.assert_allclose(cost, 0, atol=1e-5)
