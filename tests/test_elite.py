"""The elite buffer keeps the k best episodes, whole, and its scores never fall by an insertion."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from onlooker.learning import elite
from onlooker.types import Episodes

HORIZON = 6


def episodes(*rows: list[float], capacity: int = 64, most: int = 16) -> Episodes:
    """Episodes whose states are the given numbers and whose actions are their negatives."""
    flat = np.array([number for row in rows for number in row], np.float32)
    obs, owner = np.zeros((capacity, 1), np.float32), np.full(capacity, most, np.int32)
    start, length = np.zeros(most, np.int32), np.zeros(most, np.int32)
    obs[: len(flat), 0] = flat
    length[: len(rows)] = [len(row) for row in rows]
    start[: len(rows)] = np.cumsum([0, *map(len, rows)])[:-1]
    for number, row in enumerate(rows):
        owner[start[number] : start[number] + len(row)] = number
    fell = (length > 0) & (length < HORIZON)
    return Episodes(obs, -obs, owner, start, length, fell)


def g(obs):
    return obs[..., 0]


def add(buffer: elite.Elite, new: Episodes, order: elite.Order = "sum") -> tuple[elite.Elite, int]:
    buffer, entered = elite.insert(buffer, new, elite.score(g, new, order), order)
    return buffer, int(entered)


def test_score_is_the_sum_or_the_mean_by_hand():
    new = episodes([1, 2, 3], [10], [0, 4])
    np.testing.assert_allclose(elite.score(g, new, "sum")[:3], [6, 10, 4])
    np.testing.assert_allclose(elite.score(g, new, "mean")[:3], [2, 10, 2])
    assert np.all(np.isneginf(elite.score(g, new, "sum")[3:]))


def test_keeps_the_best_with_their_own_states_and_actions():
    buffer, entered = add(elite.init(2, HORIZON, 1, 1), episodes([1, 1], [5, 2, 1], [3]))
    assert entered == 2
    kept = {float(score): slot for slot, score in enumerate(buffer.score)}
    assert set(kept) == {8.0, 3.0}
    slot = kept[8.0]
    assert int(buffer.length[slot]) == 3
    np.testing.assert_array_equal(buffer.obs[slot, :3, 0], [5, 2, 1])
    np.testing.assert_array_equal(buffer.action[slot, :3, 0], [-5, -2, -1])


def test_order_decides_who_is_best():
    new = episodes([3, 3, 3], [5])
    by_sum, _ = add(elite.init(1, HORIZON, 1, 1), new, "sum")
    by_mean, _ = add(elite.init(1, HORIZON, 1, 1), new, "mean")
    assert int(by_sum.length[0]) == 3
    assert int(by_mean.length[0]) == 1


def ahead(newer: tuple[float, int], older: tuple[float, int]) -> bool:
    """Whether an episode of this (sum of g, length) takes the place of another by "sum-and-length"."""
    order: elite.Order = "sum-and-length"
    (score, length), (other, other_length) = (
        (elite.rank(jnp.float32(total), jnp.int32(steps), order), jnp.int32(steps)) for total, steps in (newer, older)
    )
    return bool(elite.beats(order, score, length, other, other_length))


def test_sum_and_length_by_hand():
    assert ahead((10, 5), (9, 4))  # both larger
    assert not ahead((9, 4), (10, 5))  # both smaller
    assert not ahead((8, 2), (10, 5))  # both smaller, though its mean is 4 against 2
    assert ahead((12, 3), (10, 5))  # larger sum, shorter: the mean decides, 4 against 2
    assert not ahead((10, 5), (12, 3))  # smaller sum, longer: the same the other way round
    assert ahead((-100, 500), (-300, 400))  # negative, both larger
    assert ahead((-100, 500), (-30, 50))  # a fall: the sum alone prefers it; the means are -0.2 and -0.6
    assert not ahead((-30, 50), (-100, 500))
    assert not ahead((-20, 50), (-10, 50))  # equal lengths: by the sum
    assert ahead((5, 3), (4, 3))
    assert ahead((4, 3), (4, 3))  # a tie goes to the newer one
    assert ahead((6, 3), (4, 2))  # equal means, both larger
    assert ahead((-6, 3), (-4, 2))  # equal means, sum and length disagree: a tie
    assert ahead((4, 2), (4, 3))  # equal sums: the shorter one has the larger mean
    assert not ahead((4, 3), (4, 2))


def test_sum_and_length_is_the_definition_for_all_small_episodes():
    """One number orders episodes as the release's comparison of sum, length and mean does: so it is transitive."""

    def as_written(newer: tuple[int, int], older: tuple[int, int]) -> bool:
        if newer[0] > older[0] and newer[1] > older[1]:
            return True
        if newer[0] < older[0] and newer[1] < older[1]:
            return False
        return newer[0] * older[1] >= older[0] * newer[1]  # the means, without rounding

    everyone = [(total, 2**power) for total in range(-12, 13) for power in range(5)]  # means are exact
    for newer in everyone:
        sums, lengths = (np.array(column) for column in zip(*everyone, strict=True))
        score = elite.rank(jnp.float32(newer[0]), jnp.int32(newer[1]), "sum-and-length")
        others = elite.rank(jnp.asarray(sums, jnp.float32), lengths, "sum-and-length")
        found = elite.beats("sum-and-length", score, newer[1], others, lengths)
        assert [as_written(newer, older) for older in everyone] == found.tolist()


def test_sum_and_length_with_empty_places_and_nan():
    buffer, entered = add(elite.init(2, HORIZON, 1, 1), episodes([float("nan")], [-3, -3]), "sum-and-length")
    assert entered == 1
    assert sorted(buffer.length.tolist()) == [0, 2]
    ruined = elite.rescore(buffer, lambda obs: obs[..., 0] * jnp.nan, "sum-and-length")
    buffer, entered = add(ruined, episodes([-100], [-100, -110]), "sum-and-length")
    assert entered == 2
    assert sorted(buffer.score.tolist()) == [-105, -100]


def test_sum_and_length_keeps_the_longer_of_two_that_lie_far_off():
    new = episodes([-1, -1], [-0.5] * 6)  # a fall, and a whole episode that is closer at every step
    by_sum, _ = add(elite.init(1, HORIZON, 1, 1), new, "sum")
    by_both, _ = add(elite.init(1, HORIZON, 1, 1), new, "sum-and-length")
    assert int(by_sum.length[0]) == 2
    assert int(by_both.length[0]) == 6


def test_the_first_of_the_lowest_goes():
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([1, 1], [9], [2]), "sum-and-length")
    places = {float(obs): place for place, obs in enumerate(buffer.obs[:, 0, 0])}
    lowest_first = min(places[1.0], places[2.0])
    buffer, entered = add(buffer, episodes([5]), "sum-and-length")
    assert entered == 1
    assert float(buffer.obs[lowest_first, 0, 0]) == 5.0


def test_a_resident_wins_a_tie_and_nan_never_enters():
    buffer, _ = add(elite.init(1, HORIZON, 1, 1), episodes([2, 2]))
    buffer, entered = add(buffer, episodes([4], [float("nan")]))
    assert entered == 0
    assert int(buffer.length[0]) == 2


def test_a_resident_whose_score_became_nan_makes_room():
    buffer, _ = add(elite.init(1, HORIZON, 1, 1), episodes([2, 2]))
    buffer = elite.rescore(buffer, lambda obs: obs[..., 0] * jnp.nan, "sum")
    buffer, entered = add(buffer, episodes([-100]))
    assert entered == 1


def test_rescoring_uses_the_newest_g_and_ignores_padding():
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([1, 2], [7]))
    newer = elite.rescore(buffer, lambda obs: 10 * obs[..., 0] + 1, "sum")
    assert sorted(float(s) for s in newer.score if np.isfinite(s)) == [32.0, 71.0]  # 10*3 + 2*1 and 10*7 + 1
    assert int(np.isneginf(newer.score).sum()) == 1  # the empty place stays empty


@pytest.mark.parametrize("order", ["sum", "mean", "sum-and-length"])
def test_total_score_never_falls_and_never_more_than_k(order):
    """Random episodes, against a plain Python priority queue as the paper writes it."""
    rng = np.random.default_rng(1)
    buffer = elite.init(3, HORIZON, 1, 1)
    queue: list[float] = []
    step: Any = jax.jit(lambda buffer, new: elite.insert(buffer, new, elite.score(g, new, order), order))
    for _ in range(40):
        rows = [list(rng.normal(size=rng.integers(1, HORIZON + 1)).round(1)) for _ in range(rng.integers(0, 6))]
        before = np.where(np.isfinite(buffer.score), buffer.score, -1e9).sum()
        buffer, _ = step(buffer, episodes(*rows))
        after = np.where(np.isfinite(buffer.score), buffer.score, -1e9).sum()
        assert after >= before - 1e-4
        assert buffer.obs.shape[0] == 3
        for numbers in rows:
            total = np.array(numbers, np.float32).sum()
            row = total / len(numbers) if order == "mean" or (order != "sum" and total < 0) else total
            if len(queue) < 3:
                queue.append(row)
            elif row > min(queue) or (row == min(queue) and order == "sum-and-length"):
                queue[int(np.argmin(queue))] = row
        np.testing.assert_allclose(
            sorted(s for s in buffer.score if np.isfinite(s)), sorted(queue), rtol=1e-5, atol=1e-5
        )
    assert step._cache_size() == 1


def test_samples_every_state_equally_and_no_padding():
    buffer, _ = add(elite.init(4, HORIZON, 1, 1), episodes([1, 2], [3, 4, 5, 6]))
    obs, action = elite.sample_evenly(buffer, jax.random.key(0), 60_000)
    np.testing.assert_array_equal(obs, -action)
    values, counts = np.unique(obs, return_counts=True)
    np.testing.assert_array_equal(values, [1, 2, 3, 4, 5, 6])
    # 10,000 expected each, deviation about 91: five deviations.
    assert np.abs(counts - 10_000).max() < 460


def test_a_state_weighs_by_what_it_is_and_what_it_leads_to():
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([0, 0, 4], [2, -1]))
    slot = int(np.argmax(buffer.length))
    other = int(np.argmin(np.where(buffer.length > 0, buffer.length, 99)))
    # Negative g counts nothing. Ahead 0.5: 0 + .5*0 + .25*4 = 1, 2, 4, and 2, 0; their mean is 9 / 5.
    alone = elite.weights(buffer, g, share=1.0, ahead=0.5)
    np.testing.assert_allclose(alone[slot], np.array([1, 2, 4, 0, 0, 0]) / 1.8, rtol=1e-6)
    np.testing.assert_allclose(alone[other], np.array([2, 0, 0, 0, 0, 0]) / 1.8, rtol=1e-6)
    # Ahead 0: 0, 0, 4, and 2, 0, of mean 6 / 5; half of the draws evenly.
    half = elite.weights(buffer, g, share=0.5, ahead=0.0)
    np.testing.assert_allclose(half[slot], [0.5, 0.5, 0.5 + 0.5 * 4 / 1.2, 0, 0, 0], rtol=1e-6)
    assert float(half.sum()) == pytest.approx(5)
    np.testing.assert_array_equal(elite.weights(buffer, g, 0.0, 0.9)[slot], [1, 1, 1, 0, 0, 0])
    # From the mean of g on, which is 5 / 5: 0, 0, 3, and 1, 0, of mean 4 / 5.
    above = elite.weights(buffer, g, share=1.0, ahead=0.0, level="mean")
    np.testing.assert_allclose(above[slot], np.array([0, 0, 3, 0, 0, 0]) / 0.8, rtol=1e-6)
    np.testing.assert_allclose(above[other], np.array([1, 0, 0, 0, 0, 0]) / 0.8, rtol=1e-6)


def test_the_states_before_a_fall_are_drawn_less():
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([2, 2, 2], [1] * HORIZON))
    fell, whole = int(np.argmax(buffer.fell)), int(np.argmax(buffer.length))
    assert buffer.fell.sum() == 1
    assert buffer.length[fell] == 3
    # To blame: a quarter, a half, all of it. So 1.5, 1, 0, and six of 1; their mean is 8.5 / 9.
    weights = elite.weights(buffer, g, share=1.0, ahead=0.0, blame=0.5)
    np.testing.assert_allclose(weights[fell], np.array([1.5, 1, 0, 0, 0, 0]) / (8.5 / 9), rtol=1e-6)
    np.testing.assert_allclose(weights[whole], np.ones(HORIZON) / (8.5 / 9), rtol=1e-6)
    # One fills the empty place; the next takes that of the first of the two lowest, which is the one that fell.
    buffer, _ = add(buffer, episodes([3] * HORIZON))
    buffer, _ = add(buffer, episodes([4] * HORIZON))
    assert not buffer.fell.any()


@pytest.mark.parametrize("worth", [-1.0, 0.0, np.nan, np.inf])
def test_where_g_tells_nothing_all_states_weigh_alike(worth):
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([1, 2]))
    weights = elite.weights(buffer, lambda obs: obs[..., 0] * 0 + worth, 1.0, 0.9)
    assert sorted(np.ravel(weights)) == [0] * 16 + [1, 1]


def test_draws_by_weight_and_no_padding():
    buffer, _ = add(elite.init(3, HORIZON, 1, 1), episodes([1, 2], [3, 4, 5, 6]))
    ends = jnp.cumsum(elite.weights(buffer, g, share=1.0, ahead=0.0))
    obs, action = elite.sample_by_weight(buffer, ends, jax.random.key(0), 21_000)
    np.testing.assert_array_equal(obs, -action)
    values, counts = np.unique(obs, return_counts=True)
    np.testing.assert_array_equal(values, [1, 2, 3, 4, 5, 6])
    # 1,000 expected for each 1 of g; the deviation of the largest is about 65.
    assert np.abs(counts - 1000 * values).max() < 330
