"""What the command line does, in a few lines of Python."""

from pathlib import Path
from typing import Any, NamedTuple

from onlooker import config, evaluation, loop
from onlooker.envs.world import Factors
from onlooker.importing import allow
from onlooker.options.filling import fill
from onlooker.policies.policy import Policy
from onlooker.runs.layout import read_metrics
from onlooker.start import begin
from onlooker.trained import load


class Run(NamedTuple):
    """A finished run."""

    path: Path
    result: dict[str, Any]

    @property
    def policy(self) -> Policy:
        """The trained policy: action = run.policy(obs)."""
        policy = load(self.path)
        assert isinstance(policy, Policy)
        return policy

    @property
    def metrics(self) -> dict[str, list[float]]:
        """Columns of `metrics.csv`; `pandas.DataFrame(run.metrics)` makes a frame of them."""
        return read_metrics(self.path)


def train(
    method: str, *, out: str | Path | None = None, demo: Any = None, threads: int | None = None, **settings: Any
) -> Run:
    """Learn: train("i2l", env="Hopper-v5", dynamics="low-gravity", demo=states, steps=1e6, ppo={"epochs": 10}).

    `demo` is a file, a shipped name, or an array of states [T, D]; settings have the command line's names.
    """
    allow(method, str(settings.get("env", "")))
    ready = begin(config.make(method, **settings), None if out is None else Path(out), demo)
    return Run(ready.folder.path, loop.train(ready, threads))


def evaluate(
    run: Run | str | Path, *, episodes: int = 10, dynamics: str | None = None, **factors: Any
) -> dict[str, float]:
    """return_mean, return_std, length_mean and episodes of a run's policy, in its own world or under other physics."""
    policy = load(run.path if isinstance(run, Run) else run)
    world = policy.world.under(dynamics, fill(Factors, factors, "evaluate"))
    return evaluation.summarize(evaluation.evaluate(world, evaluation.by_policy(policy), episodes))
