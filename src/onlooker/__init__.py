"""Onlooker: teach a simulated robot to move by watching another one.

import onlooker
run = onlooker.train("i2l", env="HalfCheetah-v5", dynamics="low-gravity", steps=1_000_000)
print(run.result["return"], onlooker.evaluate(run, dynamics="none"))
policy = onlooker.load(run.path)  # or a policy file, or "halfcheetah": action = policy(obs)
states = onlooker.demos.load("halfcheetah").obs
frame = onlooker.report.frame("results/")
env = gymnasium.make("onlooker/Hopper-v5", dynamics="low-gravity")
"""

import importlib
from typing import Any

from onlooker.arrival import when_imported

__version__ = "0.2.0"
__all__ = ["Dynamics", "Run", "__version__", "demos", "evaluate", "load", "report", "train"]

when_imported("gymnasium", lambda: importlib.import_module("onlooker.envs.registration").register())


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: jax takes a second that `onlooker --help` need not."""
    if name in ("demos", "report"):
        return importlib.import_module(f"onlooker.{name}")
    if name == "load":
        return importlib.import_module("onlooker.trained").load
    if name == "Dynamics":
        return importlib.import_module("onlooker.envs.world").Dynamics
    if name in __all__:
        return getattr(importlib.import_module("onlooker.api"), name)
    raise AttributeError(f"module 'onlooker' has no attribute {name!r}")
