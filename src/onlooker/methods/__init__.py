"""The methods, each composed of parts. An option class a method; its `build` makes the method."""

from typing import Any

from onlooker.errors import UserError, nearest
from onlooker.importing import from_path
from onlooker.methods.adversarial import AIRLMethod, GAIfOMethod, GAILSAMethod, GAILSMethod
from onlooker.methods.bc import BCMethod
from onlooker.methods.bco import BCOMethod
from onlooker.methods.i2l import I2LMethod
from onlooker.methods.oracle import PPOMethod
from onlooker.methods.transfer import TransferMethod

METHODS: dict[str, Any] = {
    "i2l": I2LMethod,
    "gail-s": GAILSMethod,
    "gaifo": GAIfOMethod,
    "bco": BCOMethod,
    "gail-sa": GAILSAMethod,
    "airl": AIRLMethod,
    "bc": BCMethod,
    "ppo": PPOMethod,
    "transfer": TransferMethod,
}
"""Name on the command line -> options; each option class builds its method."""


def find(method: str) -> Any:
    """The option class of a method: by its name, or by `module:Class` for one of your own."""
    if method in METHODS:
        return METHODS[method]
    if ":" not in method:
        raise UserError(f"unknown method {method!r}{nearest(method, METHODS)}")
    options = from_path(method, "method")
    missing = [name for name in ("build", "needs", "best_num_envs") if not hasattr(options, name)]
    if missing:
        raise UserError(f"{method} is no method: it has no {', '.join(missing)} (see docs/methods/your-own.md)")
    return options
