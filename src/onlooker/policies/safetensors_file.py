"""Policies as safetensors: the numbers alone, by name, for a program that builds the network itself."""

from pathlib import Path

import numpy as np

from onlooker.errors import UserError
from onlooker.policies.description import describe
from onlooker.policies.policy import Policy
from onlooker.storage import atomic


def save(path: Path, policy: Policy) -> None:
    """Write `layers.0.weight` [out, in] and `layers.0.bias` (as torch has them), mean and deviation of observations,
    `log_std`, and the lowest and highest action."""
    try:
        from safetensors.numpy import save as packed
    except ImportError:
        raise UserError("this needs the package safetensors: pip install 'onlooker[export]'") from None
    actor, (low, high) = policy.actor, policy.limits
    arrays = {"observation_mean": actor.stats.mean, "observation_var": actor.stats.var, "log_std": actor.log_std}
    arrays |= {"action_low": low, "action_high": high}
    for number, layer in enumerate(actor.net):
        arrays |= {f"layers.{number}.weight": layer["w"].T, f"layers.{number}.bias": layer["b"]}
    told = describe(policy) | {"squash": str(policy.options.squash).lower()}
    whole = {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}
    with atomic(path) as stream:
        stream.write(packed(whole, told))
