"""Small multilayer perceptrons, and the Gaussian policy on top of one."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp

from onlooker.learning import normalize
from onlooker.policies.actor import Actor, PolicyOptions
from onlooker.types import Array, Params

Initializer = Callable[[jax.Array, tuple[int, int]], jax.Array]

orthogonal: Initializer = jax.nn.initializers.orthogonal(math.sqrt(2))


def uniform_fan_in(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Uniform in +-1/sqrt(fan-in), what torch gives a linear layer by default."""
    bound = 1 / math.sqrt(shape[0])
    return jax.random.uniform(key, shape, jnp.float32, -bound, bound)


def init_mlp(
    key: jax.Array, sizes: Sequence[int], hidden: Initializer, last: Initializer, output_bias: bool = True
) -> list[dict[str, Array]]:
    """Layers of an MLP, `sizes` from input to output. Biases are 0 for orthogonal layers, uniform else."""
    layers = []
    for index, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        weight_key, bias_key = jax.random.split(jax.random.fold_in(key, index))
        is_last = index == len(sizes) - 2
        initializer = last if is_last else hidden
        layer = {"w": initializer(weight_key, (fan_in, fan_out))}
        if output_bias or not is_last:
            if initializer is uniform_fan_in:
                bound = 1 / math.sqrt(fan_in)
                layer["b"] = jax.random.uniform(bias_key, (fan_out,), jnp.float32, -bound, bound)
            else:
                layer["b"] = jnp.zeros(fan_out, jnp.float32)
        layers.append(layer)
    return layers


def mlp(layers: list[dict[str, Array]], x: Array) -> Array:
    """Apply an MLP with tanh between its layers to x [..., D]."""
    for index, layer in enumerate(layers):
        x = x @ layer["w"] + layer.get("b", 0.0)
        if index < len(layers) - 1:
            x = jnp.tanh(x)
    return x


def value(layers: list[dict[str, Array]], x: Array) -> Array:
    """An MLP with one output, without its last axis: x [..., D] -> [...]."""
    return mlp(layers, x)[..., 0]


def gradient_penalty(g: Callable[[Array], Array], here: Array, there: Array, key: jax.Array) -> Array:
    """Mean (|gradient of g| - 1)^2 at random points between the rows of two batches [B, D]; g maps [D] to []."""
    between = here + jax.random.uniform(key, (len(here), 1)) * (there - here)
    slopes = jax.vmap(jax.grad(g))(between)
    return jnp.square(jnp.sqrt(jnp.square(slopes).sum(-1) + 1e-12) - 1).mean()


def init_actor(key: jax.Array, obs_size: int, action_size: int, options: PolicyOptions) -> Actor:
    """A fresh policy."""
    net = init_mlp(key, (obs_size, *options.hidden, action_size), orthogonal, uniform_fan_in)
    net[-1] = {name: options.mean_init * numbers for name, numbers in net[-1].items()}
    log_std = jnp.full(action_size, options.shared(options.log_std_init, action_size), jnp.float32)
    return Actor(net, log_std, normalize.init(obs_size))


def clamp(log_std: Array, options: PolicyOptions) -> Array:
    """The log standard deviation that is used."""
    return jnp.clip(log_std, options.log_std_min, options.log_std_max)


def gaussian_log_prob(mean: Array, log_std: Array, draw: Array) -> Array:
    """Log density of draws [..., A] under the diagonal Gaussian (before any tanh): [...]."""
    standard = (draw - mean) * jnp.exp(-log_std)
    return (-0.5 * jnp.square(standard) - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)


def tanh_log_slope(draw: Array) -> Array:
    """log |d tanh(u)/du| summed over actions: what the density of tanh(u) has in its denominator.

    log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), which stays finite where tanh(u) rounds to 1.
    """
    return 2 * (math.log(2) - draw - jax.nn.softplus(-2 * draw)).sum(-1)


def gaussian_entropy(log_std: Array) -> Array:
    """Entropy of the diagonal Gaussian (before any tanh)."""
    return (log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


def log_prob(actor: Actor, options: PolicyOptions, obs: Array, draw: Array) -> Array:
    """Log density of draws [..., A] at raw observations [..., D], before any tanh: [...]."""
    mean = mlp(actor.net, normalize.apply(actor.stats, obs))
    return gaussian_log_prob(mean, clamp(actor.log_std, options), draw)


def parameters(actor: Actor) -> Params:
    """The part of an actor that gradients change."""
    return {"net": actor.net, "log_std": actor.log_std}
