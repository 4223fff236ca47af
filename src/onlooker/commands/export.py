"""onlooker export: a policy as a file for other programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import tyro

from onlooker.commands.parse import parse
from onlooker.errors import UserError, printable
from onlooker.trained import load

Kind = Literal["onnx", "safetensors"]
KINDS = get_args(Kind)


@dataclass(frozen=True)
class Export:
    """A policy as ONNX (normaliser, clip and squash inside; observations [N, D] in, actions [N, A] out), or its numbers
    alone as safetensors. Both say which robot and physics it is for, and what each number means."""

    run: Annotated[str, tyro.conf.Positional]
    """A run folder, a policy file, or a shipped expert: ant, halfcheetah, hopper, walker2d."""
    out: Annotated[Path, tyro.conf.Positional]
    """Where it goes: policy.onnx or policy.safetensors."""
    format: Kind | None = None
    """By default what the name of the file ends with."""
    single: bool = False
    """ONNX in single precision inside, for machines without doubles. Actions then differ in their last digits, and as
    walking is chaotic, so do whole episodes."""
    trust: bool = False
    """Import the code of a stranger's own environment, if the policy names one."""


def run(argv: list[str]) -> int:
    """Write the file, and say what is in it."""
    from onlooker.policies import onnx_file, safetensors_file
    from onlooker.policies.policy import Policy

    args = parse(Export, argv, "onlooker export", Export.__doc__ or "")
    kind = args.format or args.out.suffix.lstrip(".")
    if kind not in KINDS:
        raise UserError(f"{args.out} is neither .onnx nor .safetensors; name one of them, or give --format")
    if args.out.exists():
        raise UserError(f"{args.out} is there already; choose another name")
    policy = load(args.run, trust=args.trust)
    if not isinstance(policy, Policy):
        raise UserError(f"{args.run} is an ONNX file already")
    if kind == "onnx":
        onnx_file.save(args.out, policy, args.single)
    else:
        safetensors_file.save(args.out, policy)
    sizes = f"{policy.obs_size} numbers in, {policy.action_size} out"
    print(f"{printable(policy.world.env)} ({policy.world.resolve()}): {sizes}\nthe policy is in {args.out}")
    return 0
