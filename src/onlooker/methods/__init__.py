"""The methods, each composed of parts. An option class a method; its `build` makes the method."""

from typing import Any

from onlooker.errors import UserError, nearest
from onlooker.importing import from_path
from onlooker.methods.adversarial import AIRLMethod, GAIfOMethod, GAILSAMethod, GAILSMethod
from onlooker.methods.cloning import BCMethod, BCOMethod
from onlooker.methods.compose import Problem, compose
from onlooker.methods.i2l import I2LMethod
from onlooker.methods.oracle import PPOMethod
from onlooker.methods.watching import Matching, Watching, matching, shown

__all__ = ["METHODS", "Matching", "Problem", "Watching", "compose", "find", "matching", "shown"]

METHODS: dict[str, Any] = {
    "i2l": I2LMethod,
    "gail-s": GAILSMethod,
    "gaifo": GAIfOMethod,
    "bco": BCOMethod,
    "gail-sa": GAILSAMethod,
    "airl": AIRLMethod,
    "bc": BCMethod,
    "ppo": PPOMethod,
}
"""Name on the command line -> options; each option class builds its method."""
ELSEWHERE = {"transfer": "onlooker.transfer:TransferMethod"}
"""Methods that are made of more than arrays; looked for by their import path, like one of your own."""


def find(method: str) -> Any:
    """The option class of a method: by its name, or by `module:Class` for one of your own."""
    if method in METHODS:
        return METHODS[method]
    path = ELSEWHERE.get(method, method)
    if ":" not in path:
        raise UserError(f"unknown method {method!r}{nearest(method, [*METHODS, *ELSEWHERE])}")
    options = from_path(path, "method")
    missing = [name for name in ("build", "needs", "best_num_envs") if not hasattr(options, name)]
    if missing:
        raise UserError(f"{method} is no method: it has no {', '.join(missing)} (see docs/methods/your-own.md)")
    return options
