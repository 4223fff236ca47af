"""Acting in numpy: for a handful of observations a call through jit costs many times what this small network does."""

import numpy as np

from onlooker.policies.actor import CLIP, EPS, Actor, PolicyOptions


class HostPolicy:
    """An `Actor` in numpy, for an environment with these action bounds."""

    def __init__(self, actor: Actor, options: PolicyOptions, low: np.ndarray, high: np.ndarray) -> None:
        self._layers = [(np.asarray(layer["w"]), np.asarray(layer["b"])) for layer in actor.net]
        self._mean = np.asarray(actor.stats.mean)
        variance = np.asarray(actor.stats.var)
        self._scale = 1 / np.sqrt(variance + variance.dtype.type(EPS))
        self._std = np.exp(np.clip(np.asarray(actor.log_std), options.log_std_min, options.log_std_max))
        self.action = Hands(low, high, options.squash)
        """draws [N, A] -> what the environment is given for them"""

    def draw(self, obs: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
        """Gaussian draws [N, A] at raw observations [N, D], from standard normal noise; the mean without noise."""
        x = (obs - self._mean) * self._scale
        np.minimum(np.maximum(x, -CLIP, out=x), CLIP, out=x)  # np.clip takes five times as long to get going
        for weight, bias in self._layers[:-1]:
            x = x @ weight
            x += bias
            np.tanh(x, out=x)
        weight, bias = self._layers[-1]
        mean = x @ weight + bias
        return mean if noise is None else mean + self._std * noise


class Hands:
    """What the environment is given for a draw: a tanh into the action's bounds, or the draw clipped to them."""

    def __init__(self, low: np.ndarray, high: np.ndarray, squash: bool) -> None:
        self._squash, self._low, self._high = squash, low.reshape(-1), high.reshape(-1)
        if squash:
            self._centre, self._reach = (self._high + self._low) / 2, (self._high - self._low) / 2

    def __call__(self, draw: np.ndarray) -> np.ndarray:
        """Actions [N, A] of draws [N, A]."""
        if self._squash:
            return self._centre + self._reach * np.tanh(draw)
        return np.clip(draw, self._low, self._high)
