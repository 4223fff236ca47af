"""Exemplars: what a reward model is told is expert."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from onlooker.learning import elite as elite_buffer
from onlooker.learning.critic import Critic, CriticState
from onlooker.learning.elite import Elite, Level, Order
from onlooker.options.bounds import Bounds, NotNegative, Share, Times
from onlooker.types import Array, Episodes, Metrics, Rows


class Exemplars(NamedTuple):
    """A source of exemplars that may grow with the learner's own episodes."""

    init: Callable[[jax.Array], Any]
    """key -> state"""
    absorb: Callable[[Any, Episodes, Array, jax.Array], tuple[Any, Metrics]]
    """(state, episodes, iteration, key) -> (state, metrics)"""
    sample: Callable[[Any, jax.Array, int], Rows]
    """(state, key, n) -> n exemplars"""
    ready: Callable[[Any, Episodes], Array]
    """(state, episodes) -> whether there is anything to sample once these are absorbed"""
    grows: bool
    """Whether they change in training, so that snapshots of them are worth keeping."""


def constant(sample: Callable[[jax.Array, int], Rows]) -> Exemplars:
    """Exemplars that never change: sample(key, n) draws n of them."""
    return Exemplars(
        init=lambda key: (),
        absorb=lambda state, episodes, iteration, key: (state, {}),
        sample=lambda state, key, n: sample(key, n),
        ready=lambda state, episodes: jnp.array(True),
        grows=False,
    )


def none() -> Exemplars:
    """No exemplars: for rewards that are not learned from any."""
    return constant(lambda key, n: Rows(obs=None))


def from_demos(rows: Rows) -> Exemplars:
    """The recorded rows themselves, each as likely as any other."""
    rows = jax.tree.map(jnp.asarray, rows)

    def sample(key: jax.Array, n: int) -> Rows:
        chosen = jax.random.randint(key, (n,), 0, len(rows.obs))
        return jax.tree.map(lambda x: x[chosen], rows)

    return constant(sample)


@dataclass(frozen=True)
class EliteOptions:
    """The buffer of the learner's own best episodes."""

    capacity: Annotated[int, Bounds(1, 1000)] = 5
    """How many episodes it holds."""
    order: Order = "sum-and-length"
    """Which of two episodes is better: by the sum of g over its states (a longer one is a better one), by the mean, or
    by sum-and-length: ahead in both the sum and the length, else with the larger mean (release)."""
    living: NotNegative = 0.15
    """What each state counts in the order besides its g: this share of the estimated distance. So a few close states
    before a fall don't beat an episode that lives on; 0 is the paper's and the release's order."""
    rescore_every: Times = 1
    """Score the residents again with the newest critic in every n-th iteration."""
    weigh: Share = 1.0
    """Share of the exemplars that are drawn in proportion to g: states that lie close to the expert's, and states that
    lead there. The rest are drawn evenly. 0 imitates whole episodes, as the paper does."""
    ahead: Share = 0.95
    """What a state leads to: how much the g of each next state counts of the one before; 0 looks at the state alone."""
    blame: Share = 0.0
    """How far back the states of an episode are to blame for its fall, and are drawn less: the last one wholly, each
    before it this much of the next one (0.97 reaches back some 50 steps). 0 blames none."""
    level: Level = "mean"
    """From where on g counts for that: from 0, or from its mean over the buffer, so that it tells the buffer's better
    states from its worse ones wherever g lies."""


class EliteState(NamedTuple):
    """What I2L knows of the expert, and what it kept of itself."""

    critic: CriticState
    elite: Elite
    ends: Array | None  # [k * H] sums of the states' weights, once an iteration and not for each draw; None: all alike


def from_elite(
    critic: Critic, match: Callable[[Array], Array], shape: tuple[int, int, int], options: EliteOptions
) -> Exemplars:
    """I2L's exemplars: the learner's own episodes that lie closest to the expert's states in Wasserstein distance.

    `match` picks the entries of a raw observation [..., D] that the critic compares; `shape` is (horizon, D, A).
    """

    def init(key: jax.Array) -> EliteState:
        ends = jnp.zeros(options.capacity * shape[0], jnp.float32) if options.weigh > 0 else None
        return EliteState(critic.init(key), elite_buffer.init(options.capacity, *shape), ends)

    def fit_critic(state: EliteState, episodes: Episodes, key: jax.Array) -> tuple[CriticState, Metrics]:
        def residents(key: jax.Array, n: int) -> Array:
            return match(elite_buffer.sample_evenly(state.elite, key, n)[0])

        def newcomers(key: jax.Array, n: int) -> Array:
            count = jnp.asarray(episodes.length).sum()

            def new() -> Array:
                return match(jnp.asarray(episodes.obs)[jax.random.randint(key, (n,), 0, count)])

            return jax.lax.cond(count > 0, new, lambda: residents(key, n))

        def learn(known: CriticState) -> tuple[CriticState, Metrics]:
            return critic.fit(known, residents, key, newcomers)

        def wait(known: CriticState) -> tuple[CriticState, Metrics]:
            return known, {"wasserstein": jnp.full((), jnp.nan, jnp.float32)}

        return jax.lax.cond((state.elite.length > 0).any(), learn, wait, state.critic)

    def absorb(state: EliteState, episodes: Episodes, iteration: Array, key: jax.Array) -> tuple[EliteState, Metrics]:
        newest, metrics = fit_critic(state, episodes, key)

        def g(obs: Array) -> Array:
            return critic.g(newest.net, match(obs))

        living = options.living * jnp.maximum(jnp.nan_to_num(metrics["wasserstein"]), 0.0)

        def worth(obs: Array) -> Array:
            return g(obs) + living

        def admit(elite: Elite) -> tuple[Elite, Array]:
            due = iteration % options.rescore_every == 0
            order = options.order
            elite = jax.lax.cond(
                due, lambda elite: elite_buffer.rescore(elite, worth, order), lambda elite: elite, elite
            )
            return elite_buffer.insert(elite, episodes, elite_buffer.score(worth, episodes, order), order)

        # Scores matter only when there is somebody new to compare with.
        anyone = episodes.length[0] > 0
        elite, entered = jax.lax.cond(anyone, admit, lambda elite: (elite, jnp.zeros((), jnp.int32)), state.elite)
        metrics |= elite_buffer.summarize(elite) | {"elite_entered": entered}
        if options.weigh == 0:
            return EliteState(newest, elite, None), metrics
        weights = elite_buffer.weights(elite, g, options.weigh, options.ahead, options.level, options.blame)
        return EliteState(newest, elite, jnp.cumsum(weights)), metrics

    def ready(state: EliteState, episodes: Episodes) -> Array:
        return (state.elite.length > 0).any() | (episodes.length[0] > 0)

    def sample(state: EliteState, key: jax.Array, n: int) -> Rows:
        if state.ends is None:
            return Rows(*elite_buffer.sample_evenly(state.elite, key, n))
        return Rows(*elite_buffer.sample_by_weight(state.elite, state.ends, key, n))

    return Exemplars(init, absorb, sample, ready, grows=True)
