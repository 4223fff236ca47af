"""Statistics over few seeds. Random draws have a fixed seed: the same runs give the same report."""

import math
from collections.abc import Callable, Sequence

import numpy as np

RESAMPLES = 2000
Interval = tuple[float, float]


def iqm(values: np.ndarray) -> np.ndarray:
    """Interquartile mean along the last axis: the mean without the lowest and the highest quarter, rounded down."""
    count = np.shape(values)[-1]
    cut = count // 4
    return np.sort(values, axis=-1)[..., cut : count - cut].mean(axis=-1)


def mean_and_spread(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation over seeds; nan where there are too few."""
    mean = float(np.mean(values)) if len(values) else math.nan
    return mean, float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def iqm_interval(strata: Sequence[np.ndarray]) -> Interval:
    """95% bootstrap interval of the IQM over all values. Seeds are drawn anew within each setting (stratum)."""
    return _interval(strata, lambda drawn: iqm(np.concatenate(drawn, axis=-1)))


def beats(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Probability that a seed of ours has more than one of theirs, over all pairs; a tie counts half."""
    difference = ours[..., :, None] - theirs[..., None, :]
    return ((difference > 0) + 0.5 * (difference == 0)).mean(axis=(-2, -1))


def beats_interval(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> Interval:
    """95% bootstrap interval of that probability, averaged over settings."""
    flat = [values for pair in pairs for values in pair]
    return _interval(flat, lambda drawn: np.mean([beats(*drawn[i : i + 2]) for i in range(0, len(flat), 2)], axis=0))


def _interval(strata: Sequence[np.ndarray], statistic: Callable[[list[np.ndarray]], np.ndarray]) -> Interval:
    """Percentiles of a statistic of resampled seeds; nan where no setting has two seeds."""
    if not any(len(values) > 1 for values in strata):
        return math.nan, math.nan
    draw = np.random.default_rng(0)
    drawn = [values[draw.integers(0, len(values), (RESAMPLES, len(values)))] for values in strata]
    low, high = np.percentile(statistic(drawn), [2.5, 97.5])
    return float(low), float(high)
