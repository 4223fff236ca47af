"""Advantages, by hand. Discount and trace are both 0.5, so an advantage hands a quarter on to the step before."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from onlooker.learning.gae import gae

REWARD = jnp.array([1.0, 2.0, 3.0])
VALUE = jnp.array([10.0, 20.0, 30.0])
NEXT_VALUE = jnp.array([20.0, 30.0, 40.0])
NEVER = jnp.zeros(3, bool)
SECOND = jnp.array([False, True, False])


def test_one_unbroken_stream() -> None:
    # errors: 1 + .5*20 - 10 = 1;  2 + .5*30 - 20 = -3;  3 + .5*40 - 30 = -7
    # backwards: -7;  -3 + .25*-7 = -4.75;  1 + .25*-4.75 = -0.1875
    assert gae(REWARD, VALUE, NEXT_VALUE, NEVER, NEVER, 0.5, 0.5).tolist() == [-0.1875, -4.75, -7]


def test_a_termination_has_no_future() -> None:
    # the second error is 2 - 20 = -18, and nothing of the third comes back: 1 + .25*-18 = -3.5
    assert gae(REWARD, VALUE, NEXT_VALUE, SECOND, NEVER, 0.5, 0.5).tolist() == [-3.5, -18, -7]


def test_a_time_limit_counts_the_successor_but_stops_the_trace() -> None:
    # the true successor of the second step is worth 50 (30 belongs to the next episode): 2 + .5*50 - 20 = 7
    successor = jnp.array([20.0, 50.0, 40.0])
    # 1 + .25*7 = 2.75
    assert gae(REWARD, VALUE, successor, NEVER, SECOND, 0.5, 0.5).tolist() == [2.75, 7, -7]


def test_terminated_and_cut_at_once_is_terminated() -> None:
    assert gae(REWARD, VALUE, NEXT_VALUE, SECOND, SECOND, 0.5, 0.5).tolist() == [-3.5, -18, -7]


def test_trace_0_is_the_error_of_one_step() -> None:
    assert gae(REWARD, VALUE, NEXT_VALUE, NEVER, NEVER, 0.5, 0.0).tolist() == [1, -3, -7]


def test_trace_1_is_the_discounted_return_minus_the_value() -> None:
    # returns: 3 + .5*40 = 23;  2 + .5*23 = 13.5;  1 + .5*13.5 = 7.75
    assert gae(REWARD, VALUE, NEXT_VALUE, NEVER, NEVER, 0.5, 1.0).tolist() == [7.75 - 10, 13.5 - 20, 23 - 30]


def test_many_streams_equal_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    reward, value, next_value = rng.standard_normal((3, 40, 6)).astype(np.float32)
    terminated, truncated = rng.random((2, 40, 6)) < 0.1
    estimate = partial(gae, discount=0.99, gae_lambda=0.95)
    ours = jax.vmap(estimate, in_axes=1, out_axes=1)(reward, value, next_value, terminated, truncated)
    expected = np.zeros((41, 6))
    for t in reversed(range(40)):
        for n in range(6):
            future = 0.0 if terminated[t, n] else 0.99 * next_value[t, n]
            later = 0.0 if terminated[t, n] or truncated[t, n] else 0.99 * 0.95 * expected[t + 1, n]
            expected[t, n] = reward[t, n] + future - value[t, n] + later
    np.testing.assert_allclose(ours, expected[:40], atol=1e-5)
