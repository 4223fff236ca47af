"""Running mean and variance, against numpy over all rows at once."""

import jax.numpy as jnp
import numpy as np
import pytest

from onlooker.learning import normalize
from onlooker.policies.actor import Stats


def test_two_batches_by_hand() -> None:
    stats = normalize.update(normalize.init(1), jnp.array([[1.0], [3.0]]))
    assert (stats.mean.item(), stats.var.item(), stats.seen.item()) == (2, 1, 2)
    stats = normalize.update(stats, jnp.array([[8.0]]))
    # 1, 3, 8: mean 12/3 = 4; squares of the distances 9 + 1 + 16 = 26, over 3
    assert stats.mean.item() == pytest.approx(4, rel=1e-6)
    assert stats.var.item() == pytest.approx(26 / 3, rel=1e-6)
    assert stats.seen.item() == 3


def test_merging_batches_equals_numpy_over_all_rows() -> None:
    rng = np.random.default_rng(0)
    # Columns of quite different place and size, batches of different sizes and shapes.
    place, size = np.array([0.0, 5.0, -300.0, 0.01]), np.array([1.0, 0.1, 40.0, 0.001])
    batches = [place + size * rng.standard_normal((*shape, 4)) for shape in ((7,), (1,), (64, 16), (3, 5), (500,))]
    stats = normalize.init(4)
    for batch in batches:
        stats = normalize.update(stats, jnp.asarray(batch, jnp.float32))
    rows = np.concatenate([batch.reshape(-1, 4) for batch in batches])
    assert stats.seen.item() == len(rows)
    np.testing.assert_allclose(stats.mean, rows.mean(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(stats.var, rows.var(0), rtol=1e-4)


def test_a_million_rows_do_not_wear_it_out() -> None:
    """float32 sums would; a running mean does not."""
    batch = 3 + np.random.default_rng(0).standard_normal((2048, 1)).astype(np.float32)
    stats = normalize.init(1)
    for _ in range(500):
        stats = normalize.update(stats, batch)
    assert stats.mean.item() == pytest.approx(batch.mean(), rel=1e-5)
    assert stats.var.item() == pytest.approx(batch.var(), rel=1e-4)


def test_nothing_seen_normalises_nothing_but_the_clip() -> None:
    rows = jnp.array([[0.5, -2.0, 11.0, -50.0]])
    assert normalize.apply(normalize.init(4), rows).tolist() == [[0.5, -2.0, 10.0, -10.0]]


def test_apply_by_hand() -> None:
    stats = Stats(mean=jnp.array([1.0, 0.0]), var=jnp.array([4.0, 0.25]), seen=jnp.array(9.0))
    # (5 - 1) / 2 = 2 and -3 / 0.5 = -6;  (-99 - 1) / 2 = -50, clipped, and 0
    out = normalize.apply(stats, jnp.array([[5.0, -3.0], [-99.0, 0.0]]))
    np.testing.assert_allclose(out, [[2, -6], [-10, 0]], rtol=1e-6)


def test_a_constant_column_becomes_zero() -> None:
    stats = normalize.update(normalize.init(1), jnp.full((100, 1), 0.1))
    assert np.abs(normalize.apply(stats, jnp.full((3, 1), 0.1))).max() < 1e-3
