"""The Wasserstein critic: clamps hold, distances are ordered, and g over its Lipschitz constant has the right size."""

import jax
import jax.numpy as jnp
import numpy as np
import ot
import pytest

from onlooker.learning import networks
from onlooker.learning.critic import CriticOptions, CriticState, Draw, critic, score_rows, spectral_norm

RNG = np.random.default_rng(0)
EXPERT = RNG.standard_normal((1000, 3)).astype(np.float32)


def drawn_from(states: np.ndarray) -> Draw:
    def sample(key: jax.Array, n: int) -> jax.Array:
        return jnp.asarray(states, jnp.float32)[jax.random.randint(key, (n,), 0, len(states))]

    return sample


def trained(
    own: np.ndarray, options: CriticOptions, rounds: int, newest: np.ndarray = EXPERT
) -> tuple[CriticState, float]:
    made = critic(EXPERT, options)
    fit = jax.jit(lambda state, key: made.fit(state, drawn_from(own), key, drawn_from(newest)))
    state, estimate = made.init(jax.random.key(0)), 0.0
    for round_number in range(rounds):
        state, metrics = fit(state, jax.random.key(round_number))
        estimate = float(metrics["wasserstein"])
    return state, estimate


def test_clamped_weights_and_biases_stay_inside_after_every_step():
    options = CriticOptions(steps=1, warm_up=False, learning_rate=1e-2, clamp=0.05)
    for rounds in (1, 4):
        state, _ = trained(EXPERT + 3, options, rounds)
        for leaf in jax.tree.leaves(state.net):
            assert float(jnp.abs(leaf).max()) <= np.float32(0.05)


def test_spectral_norm_is_the_largest_singular_value():
    matrix = RNG.standard_normal((17, 64)).astype(np.float32)
    assert float(spectral_norm(jnp.asarray(matrix))) == pytest.approx(np.linalg.svd(matrix)[1][0], rel=0.05)
    assert float(spectral_norm(jnp.diag(jnp.array([3.0, 1.0, 0.5])))) == pytest.approx(3.0, rel=1e-5)
    assert float(spectral_norm(jnp.zeros((4, 2)))) == 0.0


def test_spectral_weights_make_g_1_lipschitz_after_every_step():
    options = CriticOptions(steps=1, warm_up=False, learning_rate=1e-2, lipschitz="spectral")
    made = critic(EXPERT, options)
    for rounds in (1, 4):
        state, _ = trained(EXPERT + 3, options, rounds)
        slopes = jax.vmap(jax.grad(lambda s, net=state.net: made.g(net, s)))(jnp.asarray(EXPERT))
        assert float(jnp.linalg.norm(slopes, axis=-1).max()) <= 1.0


def test_estimate_orders_known_distances():
    """Shifting a cloud by d moves it by exactly d in W1."""
    options = CriticOptions(learning_rate=1e-3)
    estimates = [trained(EXPERT + np.array([shift, 0, 0]), options, 8)[1] for shift in (0.0, 0.5, 1.0, 3.0)]
    assert estimates == sorted(estimates)
    assert estimates[0] < 0.1 * estimates[1]


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        (CriticOptions(positive_penalty=0.0, learning_rate=1e-3), 2.0),
        (CriticOptions(lipschitz="gradient-penalty", positive_penalty=0.0, learning_rate=1e-3), 1.3),
        (CriticOptions(lipschitz="spectral", positive_penalty=0.0, learning_rate=1e-3), 1.5),
    ],
)
def test_estimate_over_its_lipschitz_constant_is_near_the_exact_distance(options, factor):
    """g / Lip(g) is 1-Lipschitz, so its gap can't pass W1 and, once trained, should come within the stated factor."""
    own = (EXPERT[:500] * 0.8 + [2.0, -1.0, 0.0]).astype(np.float32)
    exact = ot.emd2([], [], ot.dist(EXPERT[:500], own, metric="euclidean"))
    made = critic(EXPERT, options)
    state, _ = trained(own, options, 15)
    everywhere = np.concatenate([EXPERT[:500], own, (EXPERT[:500] + own) / 2])
    slopes = jax.vmap(jax.grad(lambda s: made.g(state.net, s)))(jnp.asarray(everywhere))
    lipschitz = float(jnp.linalg.norm(slopes, axis=-1).max())
    gap = float(made.g(state.net, EXPERT[:500]).mean() - made.g(state.net, own).mean()) / lipschitz
    assert exact / factor <= gap <= exact * 1.001


def test_warm_up_takes_5_4_3_2_times_the_steps():
    counts = []
    made = critic(EXPERT, CriticOptions(steps=3))
    calls = []

    def sample(key: jax.Array, n: int) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return jnp.asarray(EXPERT[:n])

    fit = jax.jit(lambda state: made.fit(state, sample, jax.random.key(0), drawn_from(EXPERT))[0])
    state = made.init(jax.random.key(0))
    for _ in range(6):
        calls.clear()
        state = fit(state)
        jax.effects_barrier()
        counts.append(len(calls))
    assert counts == [15, 12, 9, 6, 3, 3]


def test_positive_penalty_lifts_g_above_zero():
    state, _ = trained(EXPERT + 1, CriticOptions(learning_rate=1e-3), 8)
    lifted = critic(EXPERT, CriticOptions()).g(state.net, jnp.asarray(EXPERT))
    assert float((lifted < 0).mean()) < 0.05


def test_g_stays_positive_on_the_newest_states_if_asked_to():
    """The buffer lies one unit from the expert, the newest episodes two units further on the same side."""
    aside = np.array([1.0, 0.0, 0.0])
    newest = EXPERT + 3 * aside
    shares = []
    for asked in (False, True):
        options = CriticOptions(learning_rate=1e-3, positive_newest=asked)
        state, _ = trained(EXPERT + aside, options, 8, newest)
        shares.append(float((critic(EXPERT, options).g(state.net, jnp.asarray(newest)) < 0).mean()))
    assert shares[0] > 0.5
    assert shares[1] < 0.1


def test_score_rows_equals_g_and_is_zero_behind_the_count():
    states = RNG.standard_normal((5000, 3)).astype(np.float32)
    values = jax.jit(lambda s, n: score_rows(lambda x: x.sum(-1), s, n))(states, np.int32(4321))
    np.testing.assert_allclose(values[:4321], states[:4321].sum(-1), rtol=1e-5, atol=1e-6)
    assert not np.any(values[4321:])


def test_normalised_critic_does_not_care_for_units():
    """The same states in other units give the same g, when it looks at normalised states."""
    key, units = jax.random.key(3), np.array([1.0, 100.0, 0.01], np.float32)
    options = CriticOptions(normalize=True)
    plain, scaled = critic(EXPERT, options), critic(EXPERT * units, options)
    np.testing.assert_allclose(
        plain.g(plain.init(key).net, EXPERT[:50]), scaled.g(scaled.init(key).net, EXPERT[:50] * units), rtol=1e-3
    )


def test_an_entry_that_the_expert_never_changes_keeps_its_unit():
    still = np.full((len(EXPERT), 1), 1000.1, np.float32)
    net_key, options = jax.random.key(3), CriticOptions(normalize=True)
    found = critic(np.concatenate([EXPERT, still], 1), options)
    net = found.init(net_key).net
    for moved in (0.5, -2.0):  # it counts as much as it moved, less the expert's own value
        state = np.array([[*EXPERT.mean(0), 1000.1 + moved]], np.float32)
        np.testing.assert_allclose(found.g(net, state), networks.value(net, np.array([[0, 0, 0, moved]])), atol=1e-4)
