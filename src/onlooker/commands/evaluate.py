"""onlooker evaluate: how good a policy is, at home or elsewhere."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker.commands.parse import parse
from onlooker.demos import shipped
from onlooker.envs.world import Factors
from onlooker.errors import UserError, printable
from onlooker.importing import allow
from onlooker.runs import layout
from onlooker.runs.policy_file import Policy
from onlooker.runs.policy_file import load as load_policy


@dataclass(frozen=True)
class Evaluate(Factors):
    """Returns of whole deterministic episodes from fixed seeds, in the policy's own world or under other physics."""

    run: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, or a policy file."""
    expert: str | None = None
    """Or one of the shipped experts: ant, halfcheetah, hopper, walker2d."""
    episodes: int = 10
    """How many episodes."""
    dynamics: str | None = None
    """Other physics than the policy's own: none, low-gravity, high-density, high-friction, high-damping."""
    json: bool = False
    """Print one JSON object: return_mean, return_std, length_mean, episodes."""
    trust: bool = False
    """Import the code of a stranger's own environment, if the policy names one."""


def run(argv: list[str]) -> int:
    """Evaluate and print."""
    from onlooker.evaluation import by_policy, evaluate, summarize

    args = parse(Evaluate, argv, "onlooker evaluate", Evaluate.__doc__ or "")
    policy = find_policy(args.run, args.expert, args.trust)
    world = policy.world.under(args.dynamics, args)
    result = summarize(evaluate(world, by_policy(policy), args.episodes))
    if args.json:
        print(json.dumps(result))
    else:
        spread = f"{result['return_mean']:.1f} +- {result['return_std']:.1f}"
        print(
            f"{printable(world.env)} ({world.resolve()}): return {spread}, "
            f"length {result['length_mean']:.0f}, {result['episodes']} episodes"
        )
    return 0


def find_policy(run: Path | None, expert: str | None = None, trust: bool = False) -> Policy:
    """The policy of a run folder, of a policy file, or of a shipped expert; `trust` the environment that it names."""
    if (run is None) == (expert is None):
        raise UserError("name a run folder or a policy file, or a shipped expert with --expert")
    if expert is not None:
        return load_policy(shipped.expert_path(expert))
    assert run is not None
    if not run.exists():
        raise UserError(f"there is no run {run}")
    path = run / layout.POLICY if run.is_dir() else run
    if not path.exists() and not (run / layout.CONFIG).exists():
        raise UserError(f"{run} is no run folder, and holds no {layout.POLICY}")
    if not path.exists():
        raise UserError(f"{run} holds no finished policy yet; go on with `onlooker train --resume {run}`")
    policy = load_policy(path)
    if trust:
        allow(policy.world.env)
    return policy
