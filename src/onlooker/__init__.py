"""Onlooker: teach a simulated robot to move by watching another one.

import onlooker
run = onlooker.train("i2l", env="HalfCheetah-v5", dynamics="low-gravity", steps=1_000_000)
print(run.result["return"], onlooker.evaluate(run, dynamics="none"))
states = onlooker.demos.load("halfcheetah").obs
frame = onlooker.report.frame("results/")
"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["Dynamics", "Run", "__version__", "demos", "evaluate", "report", "train"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: jax takes a second that `onlooker --help` need not."""
    if name in ("demos", "report"):
        return importlib.import_module(f"onlooker.{name}")
    if name == "Dynamics":
        return importlib.import_module("onlooker.envs.world").Dynamics
    if name in __all__:
        return getattr(importlib.import_module("onlooker.api"), name)
    raise AttributeError(f"module 'onlooker' has no attribute {name!r}")
