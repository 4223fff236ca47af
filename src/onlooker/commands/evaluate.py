"""onlooker evaluate: how good a policy is, at home or elsewhere."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from onlooker.commands.parse import parse
from onlooker.demos import shipped
from onlooker.envs.world import Factors
from onlooker.errors import UserError, printable
from onlooker.importing import allow
from onlooker.policies import policy_file
from onlooker.policies.policy import Acts
from onlooker.trained import load


@dataclass(frozen=True)
class Evaluate(Factors):
    """Returns of whole deterministic episodes from fixed seeds, in the policy's own world or under other physics."""

    run: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, or a policy file: ours, or somebody else's .onnx with one input and one output."""
    policy: Path | None = None
    """The same, said by name."""
    env: str | None = None
    """The environment of a policy from another program."""
    expert: str | None = None
    """Or one of the shipped experts: ant, halfcheetah, hopper, walker2d."""
    episodes: int = 10
    """How many episodes."""
    dynamics: str | None = None
    """Other physics than the policy's own: none, low-gravity, high-density, high-friction, high-damping."""
    json: bool = False
    """Print one JSON object: return_mean, return_std (null without a reward), length_mean, episodes; and
    forward_speed_mean where a robot from its file says what to follow."""
    trust: bool = False
    """Import the code of a stranger's own environment, if the policy names one."""


def run(argv: list[str]) -> int:
    """Evaluate and print."""
    from onlooker.evaluation import by_policy, evaluate, summarize

    args = parse(Evaluate, argv, "onlooker evaluate", Evaluate.__doc__ or "")
    if args.run is not None and args.policy is not None:
        raise UserError(f"two policies are named, {args.run} and {args.policy}; name one")
    policy = find_policy(args.run or args.policy, args.expert, args.trust, args.env)
    world = policy.world.under(args.dynamics, args)
    result = summarize(evaluate(world, by_policy(policy), args.episodes))
    if args.json:
        print(json.dumps({name: None if math.isnan(value) else value for name, value in result.items()}))
    else:
        told = [f"return {result['return_mean']:.1f} +- {result['return_std']:.1f}"]
        if math.isnan(result["return_mean"]):
            told = ["no reward is known"]
        if "forward_speed_mean" in result:
            told.append(f"forward speed {result['forward_speed_mean']:.2f} m/s")
        told += [f"length {result['length_mean']:.0f}", f"{result['episodes']} episodes"]
        print(f"{printable(world.env)} ({world.resolve()}): {', '.join(told)}")
    return 0


def find_policy(run: Path | None, expert: str | None = None, trust: bool = False, env: str | None = None) -> Acts:
    """The policy of a run folder, of a policy file, or of a shipped expert; `trust` the environment that it names."""
    if (run is None) == (expert is None):
        raise UserError("name a run folder or a policy file, or a shipped expert with --expert")
    if expert is not None:
        return policy_file.load(shipped.expert_path(expert))
    assert run is not None
    if not run.exists():
        raise UserError(f"there is no run {run}")
    allow(env or "")
    return load(run, env=env, trust=trust)
