"""The elite buffer: the k episodes of the learner's own that score highest."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning.critic import score_rows
from onlooker.types import Array, Episodes, Metrics

Order = Literal["sum", "mean", "sum-and-length"]
"""Which of two episodes is better: the one with the larger sum of g over its states; with the larger mean; or, as in
the authors' release, the one that is ahead in both the sum and the length, else the one with the larger mean."""
Level = Literal["zero", "mean"]
"""From where on g counts when states are weighed: from 0, or from its mean over the buffer."""


class Elite(NamedTuple):
    """Up to k whole episodes, each padded to the horizon H. An empty place has length 0 and score -inf."""

    obs: Array  # [k, H, D]
    action: Array  # [k, H, A] before any tanh
    length: Array  # [k]
    fell: Array  # [k] it ended for good
    score: Array  # [k]


def init(capacity: int, horizon: int, obs_size: int, action_size: int) -> Elite:
    """An empty buffer."""
    return Elite(
        obs=jnp.zeros((capacity, horizon, obs_size), jnp.float32),
        action=jnp.zeros((capacity, horizon, action_size), jnp.float32),
        length=jnp.zeros(capacity, jnp.int32),
        fell=jnp.zeros(capacity, bool),
        score=jnp.full(capacity, -jnp.inf, jnp.float32),
    )


def rank(sums: Array, length: Array, order: Order) -> Array:
    """The number [...] that episodes are ordered by, from their sums of g and their lengths.

    "sum-and-length" compares two numbers of each episode, and one number does the same. Of two sums above 0, the larger
    with the shorter length has the larger mean too, so the larger sum always wins. Of two sums below 0, the larger with
    the larger length has the larger mean too, so the larger mean always wins. And a sum above 0 beats one below.
    """
    means = sums / jnp.maximum(length, 1)
    return {"sum": sums, "mean": means, "sum-and-length": jnp.where(sums >= 0, sums, means)}[order]


def beats(order: Order, score: Array, length: Array, other: Array, other_length: Array) -> Array:
    """Whether a newcomer takes a resident's place. NaN never does.

    A tie goes to the resident by "sum" and "mean". By "sum-and-length" it goes to the newcomer; but of equal sums above
    0 the shorter episode has the larger mean.
    """
    if order != "sum-and-length":
        return score > other
    return (score > other) | ((score == other) & ((length <= other_length) | (score <= 0)))


def score(g: Callable[[Array], Array], episodes: Episodes, order: Order) -> Array:
    """Scores [E] of episodes under g: raw observations [..., D] -> [...]; -inf for padding."""
    values = score_rows(g, episodes.obs, episodes.length.sum())
    sums = jax.ops.segment_sum(values, episodes.owner, num_segments=len(episodes.length) + 1)[:-1]
    return jnp.where(episodes.length > 0, rank(sums, episodes.length, order), -jnp.inf)


def rescore(elite: Elite, g: Callable[[Array], Array], order: Order) -> Elite:
    """Score the residents again, with a newer g."""
    there = jnp.arange(elite.obs.shape[1]) < elite.length[:, None]
    sums = jnp.where(there, g(elite.obs), 0.0).sum(1)
    scores = rank(sums, elite.length, order)
    known = (elite.length > 0) & ~jnp.isnan(scores)  # a NaN would win every comparison by losing none
    return elite._replace(score=jnp.where(known, scores, -jnp.inf))


def insert(elite: Elite, episodes: Episodes, scores: Array, order: Order) -> tuple[Elite, Array]:
    """Let each new episode take the place of the lowest resident if it beats it; how many places changed hands.

    The lowest resident has the lowest score; of several, it is the first. So the sum of scores never falls, and an
    episode whose score is NaN never gets in.
    """
    horizon = elite.obs.shape[1]
    new_lengths = jnp.asarray(episodes.length)

    def consider(number: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        standing, length, holder = carry
        lowest = jnp.argmin(standing)
        better = beats(order, scores[number], new_lengths[number], standing[lowest], length[lowest])

        def taken(places: Array, newcomer: Array) -> Array:
            return places.at[lowest].set(jnp.where(better, newcomer, places[lowest]))

        return taken(standing, scores[number]), taken(length, new_lengths[number]), taken(holder, number)

    count = (episodes.length > 0).sum()
    resident = jnp.full(len(elite.score), -1, jnp.int32)
    standing, length, holder = jax.lax.fori_loop(0, count, consider, (elite.score, elite.length, resident))
    entered = (holder >= 0).sum()

    def copy(elite: Elite) -> Elite:
        def cut(rows: Array) -> Array:  # the holder's rows [k, H, ...], and whatever follows them
            padded = jnp.pad(jnp.asarray(rows), ((0, horizon), (0, 0)))
            starts = jnp.asarray(episodes.start)[holder]
            return jax.vmap(lambda start: jax.lax.dynamic_slice_in_dim(padded, start, horizon))(starts)

        new = holder >= 0
        rows = new[:, None, None]
        return Elite(
            obs=jnp.where(rows, cut(episodes.obs), elite.obs),
            action=jnp.where(rows, cut(episodes.action), elite.action),
            length=length,
            fell=jnp.where(new, jnp.asarray(episodes.fell)[holder], elite.fell),
            score=standing,
        )

    return jax.lax.cond(entered > 0, copy, lambda elite: elite, elite), entered


def sample_evenly(elite: Elite, key: jax.Array, n: int) -> tuple[Array, Array]:
    """n (obs, action) rows, each state of the buffer equally likely."""
    ends = jnp.cumsum(elite.length)
    drawn = jax.random.randint(key, (n,), 0, jnp.maximum(ends[-1], 1))
    episode = jnp.searchsorted(ends, drawn, side="right")
    row = drawn - (ends - elite.length)[episode]
    return elite.obs[episode, row], elite.action[episode, row]


def weights(
    elite: Elite,
    g: Callable[[Array], Array],
    share: float,
    ahead: float,
    level: Level = "zero",
    blame: float = 0.0,
) -> Array:
    """How often each state [k, H] is to be drawn, 1 on average: a `share` of the draws in proportion to how far g is
    above the level, at the state and at those that follow it in its episode, each counted `ahead` times the one before;
    the rest evenly. The last state before a fall is to blame for all of it, and counts nothing; each one before that is
    to blame for `blame` of what the next one is."""
    there = jnp.arange(elite.obs.shape[1]) < elite.length[:, None]
    values = jnp.where(there, g(elite.obs), 0.0)
    if level == "mean":
        values -= values.sum() / jnp.maximum(there.sum(), 1)
    good = jnp.where(there, jnp.nan_to_num(jax.nn.relu(values), posinf=0.0), 0.0)
    good = jnp.where(there, _discounted(good, ahead), 0.0)
    if blame > 0:
        to_come = jnp.maximum(elite.length[:, None] - 1 - jnp.arange(elite.obs.shape[1]), 0)
        good *= jnp.where(elite.fell[:, None], 1 - blame**to_come, 1.0)
    mean = good.sum() / jnp.maximum(there.sum(), 1)
    return jnp.where(there, jnp.where(mean > 0, share * good / mean + 1 - share, 1.0), 0.0)


def _discounted(values: Array, discount: float) -> Array:
    """values[t] + discount * values[t + 1] + discount^2 * values[t + 2] ... along the last axis."""

    def join(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
        return later[0] * earlier[0], earlier[1] + earlier[0] * later[1]

    discounts = jnp.full_like(values, discount)
    return jax.lax.associative_scan(join, (discounts, values), reverse=True, axis=values.ndim - 1)[1]


def sample_by_weight(elite: Elite, ends: Array, key: jax.Array, n: int) -> tuple[Array, Array]:
    """n (obs, action) rows by their weights, of which `ends` [k * H] are the sums up to and with each row."""
    # From above 0 to the last sum, so the first row to reach a number always has a weight of its own: never padding.
    row = jnp.searchsorted(ends, ends[-1] * (1 - jax.random.uniform(key, (n,))))
    return elite.obs.reshape(len(ends), -1)[row], elite.action.reshape(len(ends), -1)[row]


def summarize(elite: Elite) -> Metrics:
    """What a user wants to know of the buffer."""
    there = elite.length > 0
    count = jnp.maximum(there.sum(), 1)
    empty = ~there.any()
    return {
        "elite_score_min": jnp.where(empty, jnp.nan, jnp.where(there, elite.score, jnp.inf).min()),
        "elite_score_mean": jnp.where(empty, jnp.nan, jnp.where(there, elite.score, 0.0).sum() / count),
        "elite_length": jnp.where(empty, jnp.nan, elite.length.sum() / count),
    }
