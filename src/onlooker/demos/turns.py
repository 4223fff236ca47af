"""Quaternions [..., 4], w first, as MuJoCo has them."""

import numpy as np


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The rotation `right`, then `left`."""
    (a, b, c, d), (e, f, g, h) = np.moveaxis(left, -1, 0), np.moveaxis(right, -1, 0)
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ],
        axis=-1,
    )


def turned(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The turn from one to the other as axis times angle [..., 3], in the frame that turns, as MuJoCo's velocities."""
    step = product(before * np.array([1.0, -1, -1, -1]), after)
    step = np.where(step[..., :1] < 0, -step, step)  # the short way round
    sine = np.linalg.norm(step[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, step[..., :1])
    return step[..., 1:] * angle / np.where(sine > 0, sine, 1)


def between(before: np.ndarray, after: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Turned a part [..., 1] of the way, 0 to 1, at an even rate."""
    turn = turned(before, after) * part
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    axis = turn / np.where(angle > 0, angle, 1)
    step = np.concatenate([np.cos(angle / 2), axis * np.sin(angle / 2)], axis=-1)
    return product(before, step)
