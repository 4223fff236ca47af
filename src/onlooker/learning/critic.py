"""The Wasserstein critic: a Lipschitz function g(s) that is high where the expert is and low where the buffer is.

By Kantorovich and Rubinstein, W1(expert, buffer) is the largest `mean g(expert) - mean g(buffer)` that a 1-Lipschitz g
can reach. Clamped weights make g Lipschitz with a constant that nobody knows, so the estimate orders distances rightly
but has no unit; a gradient penalty holds the constant near 1, and weights of spectral norm 1 hold it below 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from onlooker.learning import networks, normalize
from onlooker.options.bounds import Layers, NotNegative, Positive, Rate, Share, Times
from onlooker.types import Array, Metrics, Params

POWER_ITERATIONS = 8  # for the spectral norm of a weight matrix
CHUNK = 2048  # rows scored at a time: episodes come in any number, and padding would cost as much as states


@dataclass(frozen=True)
class CriticOptions:
    """The Wasserstein critic over states."""

    hidden: Layers = (64, 64, 64)
    """Hidden layers."""
    learning_rate: Rate = 5e-5
    """Step size of RMSProp."""
    decay: Share = 0.99
    """RMSProp's memory."""
    steps: Times = 20
    """Gradient steps an iteration."""
    warm_up: bool = True
    """Its first four rounds take 5, 4, 3 and 2 times the steps."""
    batch: Times = 250
    """Expert states and buffer states in a step, each."""
    lipschitz: Literal["clamp", "gradient-penalty", "spectral"] = "clamp"
    """What keeps g Lipschitz: weights and biases clamped after each step, a penalty on its gradient's norm, or weight
    matrices scaled down to spectral norm 1 after each step."""
    clamp: Positive = 0.05
    """Weights and biases stay within +-this."""
    gradient_penalty: NotNegative = 10.0
    """Weight of (|gradient| - 1)^2 between expert and buffer states."""
    positive_penalty: NotNegative = 2.0
    """Weight of relu(-g) on both classes: keeps g positive, so that longer episodes have higher sums."""
    positive_newest: bool = True
    """Keep g positive on the newest episodes' states too, not only on what is in the buffer already: where it is
    negative on them, a short fall beats a long episode."""
    max_grad_norm: Positive = 10.0
    """Gradient norm, clipped."""
    normalize: bool = False
    """Look at states in units of the expert's deviation instead of raw ones. An entry that never changes keeps its
    own."""
    reward: NotNegative = 0.0
    """Weight of g in the policy's reward: besides f, a step is worth this much of the g of the state that it leads to.
    0 leaves it to the buffer alone to come closer to the expert, as the paper does."""


Draw = Callable[[jax.Array, int], Array]
"""(key, n) -> n raw states [n, S]"""


class CriticState(NamedTuple):
    """The critic and its optimiser."""

    net: list[dict[str, Array]]
    opt: Any
    rounds: Array  # [] how often it was fitted


class Critic(NamedTuple):
    """g, as pure functions. S is the number of state entries that expert and learner are compared in."""

    init: Callable[[jax.Array], CriticState]
    """key -> state"""
    g: Callable[[Params, Array], Array]
    """(net, raw states [..., S]) -> values [...]"""
    fit: Callable[[CriticState, Draw, jax.Array, Draw], tuple[CriticState, Metrics]]
    """(state, draw n buffer states, key, draw n of the newest episodes' states) -> (state, metrics)"""


def critic(expert: Array, options: CriticOptions) -> Critic:
    """A critic that knows the expert's states [T, S]."""
    expert = jnp.asarray(expert, jnp.float32)
    size = expert.shape[-1]
    stats = _units(expert) if options.normalize else None
    rms = optax.scale_by_rms(decay=options.decay, eps=1e-8, eps_in_sqrt=False)
    descent = optax.flatten(optax.chain(optax.clip_by_global_norm(options.max_grad_norm), rms))

    def init(key: jax.Array) -> CriticState:
        sizes = (size, *options.hidden, 1)
        net = networks.init_mlp(key, sizes, networks.uniform_fan_in, networks.uniform_fan_in)
        return CriticState(net, descent.init(net), jnp.zeros((), jnp.int32))

    def g(net: Params, states: Array) -> Array:
        return networks.value(net, states if stats is None else normalize.apply(stats, states))

    def loss(net: Params, real: Array, own: Array, new: Array | None, key: jax.Array) -> tuple[Array, Array]:
        g_real, g_own = g(net, real), g(net, own)
        estimate = g_real.mean() - g_own.mean()
        negative = jax.nn.relu(-g_real).mean() + jax.nn.relu(-g_own).mean()
        if new is not None:
            negative += jax.nn.relu(-g(net, new)).mean()
        total = -estimate + options.positive_penalty * negative
        if options.lipschitz == "gradient-penalty":
            total += options.gradient_penalty * networks.gradient_penalty(lambda s: g(net, s), real, own, key)
        return total, estimate

    def fit(state: CriticState, sample: Draw, key: jax.Array, newest: Draw) -> tuple[CriticState, Metrics]:
        def step(number: Array, carry: tuple[Params, Any, Array]) -> tuple[Params, Any, Array]:
            net, opt, estimates = carry
            real_key, own_key, new_key, mix_key = jax.random.split(jax.random.fold_in(key, number), 4)
            real = expert[jax.random.randint(real_key, (options.batch,), 0, len(expert))]
            own = sample(own_key, options.batch)
            new = newest(new_key, options.batch) if options.positive_newest else None
            grads, estimate = jax.grad(loss, has_aux=True)(net, real, own, new, mix_key)
            direction, opt = descent.update(grads, opt)
            net = jax.tree.map(lambda p, d: p - options.learning_rate * d, net, direction)
            if options.lipschitz == "clamp":
                net = jax.tree.map(lambda p: jnp.clip(p, -options.clamp, options.clamp), net)
            elif options.lipschitz == "spectral":
                net = [layer | {"w": layer["w"] / jnp.maximum(1, spectral_norm(layer["w"]))} for layer in net]
            return net, opt, estimates + estimate

        rounds = state.rounds + 1
        count = options.steps * (jnp.maximum(1, 6 - rounds) if options.warm_up else 1)
        net, opt, estimates = jax.lax.fori_loop(0, count, step, (state.net, state.opt, jnp.zeros((), jnp.float32)))
        return CriticState(net, opt, rounds), {"wasserstein": estimates / count}

    return Critic(init, g, fit)


def _units(expert: Array) -> normalize.Stats:
    """Mean and variance of the expert's states [T, S]. An entry that never changes has no unit, and keeps its own:
    divided by almost nothing, any touch of a body that the expert never touches with would outweigh all the rest."""
    stats = normalize.update(normalize.init(expert.shape[-1]), expert)
    return stats._replace(var=jnp.where(jnp.ptp(expert, 0) > 0, stats.var, 1.0))


def spectral_norm(matrix: Array) -> Array:
    """The largest singular value, by power iteration: some percent low where the two largest are close."""

    def iterate(_: int, vector: Array) -> Array:
        vector = matrix.T @ (matrix @ vector)
        return vector / (jnp.linalg.norm(vector) + 1e-12)

    start = jax.random.normal(jax.random.key(0), matrix.shape[1:])
    return jnp.linalg.norm(matrix @ jax.lax.fori_loop(0, POWER_ITERATIONS, iterate, start))


def score_rows(g: Callable[[Array], Array], states: Array, count: Array) -> Array:
    """g of the first `count` rows of states [C, S], in chunks; 0 for the padding behind them: [C]."""
    capacity = states.shape[0]
    padded = jnp.pad(jnp.asarray(states), ((0, -capacity % CHUNK), (0, 0)))

    def chunk(number: Array, values: Array) -> Array:
        rows = jax.lax.dynamic_slice_in_dim(padded, number * CHUNK, CHUNK)
        return jax.lax.dynamic_update_slice_in_dim(values, g(rows), number * CHUNK, 0)

    chunks = (count + CHUNK - 1) // CHUNK
    values = jax.lax.fori_loop(0, chunks, chunk, jnp.zeros(padded.shape[0], jnp.float32))[:capacity]
    return jnp.where(jnp.arange(capacity) < count, values, 0.0)
