"""Networks and densities: by hand, against scipy, and against the rule that a density has mass 1."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats as scipy_stats

from onlooker.learning import networks, normalize
from onlooker.policies.actor import Actor, PolicyOptions, Stats

KEY = jax.random.key(0)


def test_mlp_by_hand() -> None:
    layers = [
        {"w": jnp.array([[1.0, 2.0], [0.0, -1.0]]), "b": jnp.array([0.5, 0.0])},
        {"w": jnp.array([[3.0], [4.0]]), "b": jnp.array([-1.0])},
    ]
    # x = (1, 2): hidden tanh(1*1 + 2*0 + .5) = tanh 1.5 and tanh(1*2 - 2*1) = tanh 0; out 3 tanh 1.5 + 4*0 - 1
    x = jnp.array([1.0, 2.0])
    assert networks.mlp(layers, x).tolist() == pytest.approx([3 * math.tanh(1.5) - 1], rel=1e-6)
    assert networks.value(layers, jnp.stack([x, x])).shape == (2,)
    without_bias = [layers[0], {"w": layers[1]["w"]}]
    assert networks.mlp(without_bias, x).tolist() == pytest.approx([3 * math.tanh(1.5)], rel=1e-6)


def test_layers_start_as_the_release_has_them() -> None:
    actor = networks.init_actor(KEY, 17, 6, PolicyOptions(hidden=(64, 32), mean_init=1.0, log_std_init=-1))
    first, second, head = (np.asarray(layer["w"], float) for layer in actor.net)
    assert [first.shape, second.shape, head.shape] == [(17, 64), (64, 32), (32, 6)]
    # Orthogonal with gain sqrt 2: rows (or columns, whichever are fewer) at right angles, with squared length 2.
    np.testing.assert_allclose(first @ first.T, 2 * np.eye(17), atol=1e-5)
    np.testing.assert_allclose(second.T @ second, 2 * np.eye(32), atol=1e-5)
    assert [np.abs(layer["b"]).max() for layer in actor.net[:2]] == [0, 0]
    # The mean head is uniform in +-1/sqrt(32), its bias too: all within, and some near the edge.
    bound = 1 / math.sqrt(32)
    assert 0.95 * bound < np.abs(head).max() <= bound
    assert 0 < np.abs(actor.net[2]["b"]).max() <= bound
    assert actor.log_std.tolist() == [-1] * 6


def test_the_first_mean_is_as_small_as_asked() -> None:
    usual, small = (networks.init_actor(KEY, 17, 6, PolicyOptions(mean_init=share)) for share in (1.0, 0.25))
    for name in ("w", "b"):  # a quarter is exact in floating point
        np.testing.assert_array_equal(small.net[-1][name], usual.net[-1][name] / 4)
        np.testing.assert_array_equal(small.net[0][name], usual.net[0][name])
    x = jax.random.normal(KEY, (5, 17))
    np.testing.assert_allclose(networks.mlp(small.net, x), networks.mlp(usual.net, x) / 4, rtol=1e-5)


def test_an_output_without_bias_and_fresh_keys_for_each_layer() -> None:
    layers = networks.init_mlp(KEY, (8, 8, 8, 8), networks.uniform_fan_in, networks.uniform_fan_in, output_bias=False)
    assert [sorted(layer) for layer in layers] == [["b", "w"], ["b", "w"], ["w"]]
    assert len({float(layer["w"][0, 0]) for layer in layers}) == 3
    assert all(leaf.dtype == jnp.float32 and not leaf.weak_type for leaf in jax.tree.leaves(layers))


def test_gaussian_density_by_hand() -> None:
    # One deviation from the mean: -1/2 - log sigma - log(2 pi)/2, summed over actions with sigma 1 and 2.
    mean, log_std, draw = jnp.array([0.0, 1.0]), jnp.array([0.0, math.log(2)]), jnp.array([1.0, 3.0])
    expected = (-0.5 - 0 - 0.9189385) + (-0.5 - 0.6931472 - 0.9189385)
    assert networks.gaussian_log_prob(mean, log_std, draw).item() == pytest.approx(expected, rel=1e-6)


def test_gaussian_density_and_entropy_equal_scipy() -> None:
    rng = np.random.default_rng(0)
    mean, draw, log_std = rng.standard_normal((50, 3)), 2 * rng.standard_normal((50, 3)), np.array([-2.0, 0.0, 1.0])
    expected = scipy_stats.norm.logpdf(draw, mean, np.exp(log_std)).sum(-1)
    np.testing.assert_allclose(networks.gaussian_log_prob(mean, log_std, draw), expected, rtol=1e-5, atol=1e-5)
    entropy = scipy_stats.norm.entropy(0, np.exp(log_std)).sum()
    assert networks.gaussian_entropy(jnp.asarray(log_std)).item() == pytest.approx(entropy, rel=1e-6)


def test_slope_of_tanh_by_hand() -> None:
    # tanh'(0) = 1. tanh'(1) = 1 - 0.7615942^2 = 0.4199743. Two of them add up.
    assert networks.tanh_log_slope(jnp.array([0.0])).item() == pytest.approx(0, abs=1e-6)
    assert networks.tanh_log_slope(jnp.array([1.0, -1.0])).item() == pytest.approx(2 * math.log(0.4199743), rel=1e-5)
    # Far out tanh rounds to 1, yet tanh'(u) = 4 exp(-2u) / (1 + exp(-2u))^2 -> log 4 - 2u: log 4 - 60
    assert networks.tanh_log_slope(jnp.array([30.0])).item() == pytest.approx(math.log(4) - 60, rel=1e-6)
    assert networks.tanh_log_slope(jnp.array([-30.0])).item() == pytest.approx(math.log(4) - 60, rel=1e-6)


def squashed_density(mean: jax.Array, log_std: jax.Array, draw: jax.Array) -> np.ndarray:
    """Of tanh(draw): the Gaussian's density over the slope of tanh."""
    return np.exp(networks.gaussian_log_prob(mean, log_std, draw) - networks.tanh_log_slope(draw))


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, -0.5), (0.8, -1.0), (-0.5, 0.0)])
def test_squashed_density_has_mass_1(mean: float, log_std: float) -> None:
    edges = np.linspace(-1, 1, 200_001)
    action = (edges[1:] + edges[:-1]) / 2
    draw = np.arctanh(action)[:, None]
    density = squashed_density(jnp.array([mean]), jnp.array([log_std]), jnp.asarray(draw))
    assert np.sum(density.astype(float)) * 2 / len(action) == pytest.approx(1, abs=1e-4)
    # ... and it is not just normalised: its mean is that of tanh of the Gaussian, found by drawing.
    sample = np.tanh(mean + math.exp(log_std) * np.random.default_rng(0).standard_normal(1_000_000))
    assert np.sum(density * action) * 2 / len(action) == pytest.approx(sample.mean(), abs=3e-3)


def test_squashed_density_of_two_actions_has_mass_1() -> None:
    edges = np.linspace(-1, 1, 1001)
    middle = np.arctanh((edges[1:] + edges[:-1]) / 2)
    draw = np.stack(np.meshgrid(middle, middle), axis=-1)
    density = squashed_density(jnp.array([0.3, -0.6]), jnp.array([-0.7, -1.0]), jnp.asarray(draw))
    assert density.astype(float).sum() * (2 / 1000) ** 2 == pytest.approx(1, abs=1e-4)


def test_log_prob_normalises_observations_and_clamps_the_deviation() -> None:
    # Mean = normalised observation = (7 - 1) / 3 = 2. Log-std 5 is clamped to 2. A draw of 2 is at the mean.
    net = [{"w": jnp.eye(1), "b": jnp.zeros(1)}]
    actor = Actor(net, jnp.array([5.0]), Stats(jnp.array([1.0]), jnp.array([9.0]), jnp.array(1.0)))
    at_the_mean = networks.log_prob(actor, PolicyOptions(), jnp.array([7.0]), jnp.array([2.0])).item()
    assert at_the_mean == pytest.approx(-2 - 0.9189385, rel=1e-5)
    low = actor._replace(log_std=jnp.array([-50.0]))
    at_the_mean = networks.log_prob(low, PolicyOptions(), jnp.array([1.0]), jnp.array([0.0])).item()
    assert at_the_mean == pytest.approx(10 - 0.9189385, rel=1e-5)


def test_only_net_and_log_std_learn_by_gradient() -> None:
    actor = networks.init_actor(KEY, 3, 2, PolicyOptions())
    assert set(networks.parameters(actor)) == {"net", "log_std"}
    assert jax.tree.all(jax.tree.map(np.array_equal, actor.stats, normalize.init(3)))
