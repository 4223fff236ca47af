"""onlooker train: learn, or go on learning."""

import math
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from onlooker import start
from onlooker.commands.parse import parse
from onlooker.commands.progress import Progress
from onlooker.config import Budget, Config, make
from onlooker.demos import shipped
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.importing import allow
from onlooker.methods import METHODS, find
from onlooker.options.history import refuse_old_flags
from onlooker.options.spelling import Count
from onlooker.runs import wandb_log
from onlooker.runs.folder import RunFolder
from onlooker.start import Ready, allow_named


@dataclass(frozen=True)
class Running:
    """How it runs; none of this changes a number."""

    threads: int | None = None
    """Threads for the physics; all cores by default."""
    checkpoint_seconds: float = 30.0
    """Save this often."""
    video: bool = False
    """Film the policy at the end; an imitator beside the expert in its own world."""
    wandb: bool = False
    """Log to Weights & Biases too (needs onlooker[wandb]; WANDB_MODE=offline needs no account)."""

    def check(self) -> None:
        """Refuse what has no meaning."""
        if self.threads is not None and self.threads < 1:
            raise UserError(f"--threads must be at least 1, not {self.threads}")
        if not self.checkpoint_seconds >= 0:
            raise UserError(f"--checkpoint-seconds must be 0 or more, not {self.checkpoint_seconds}")


@dataclass(frozen=True)
class Resume(Running):
    """Go on with a run from its last checkpoint, exactly as if it had never stopped."""

    resume: Path = field(default=Path())
    """The run folder."""
    steps: Count | None = None
    """Give it more steps than it was begun with. Learning rate and noise go on as in a run that had them from the
    beginning; where they fall over a fixed number of steps (5 million by default), it can't be longer than that."""
    trust: bool = False
    """Import the code of a stranger's own environment or method, if the run folder names any."""


Options = TypeVar("Options")


@dataclass(frozen=True)
class Train(Generic[Options]):
    """The command line of a method: its own options and those that all methods share."""

    options: Annotated[Options, tyro.conf.arg(name="")]
    world: Annotated[World, tyro.conf.arg(name="")] = field(default_factory=World)
    budget: Annotated[Budget, tyro.conf.arg(name="")] = field(default_factory=Budget)
    running: Annotated[Running, tyro.conf.arg(name="")] = field(default_factory=Running)
    preset: str | None = None
    """A named set of defaults: paper, release (i2l). Options given beside it win."""
    out: Path | None = None
    """The run folder to make; runs/METHOD-ENV-DYNAMICS-sSEED by default."""


def run(argv: list[str]) -> int:
    """Train and show how it goes."""
    if any(word == "--resume" or word.startswith("--resume=") for word in argv):
        if not argv[0].startswith("-"):
            raise UserError("--resume takes a run as it was begun: leave out the method and its options")
        resume = parse(Resume, argv, "onlooker train", Resume.__doc__ or "")
        resume.check()
        if resume.trust:
            allow_named(resume.resume)
        folder = RunFolder.open(resume.resume)
        if folder.finished and resume.steps in (None, folder.config.budget.steps):
            print(f"{folder.path} is complete: there is nothing left to do (--steps gives it more)")
            return 0
        return _train(start.resume(resume.resume, resume.steps), resume)
    if not argv or argv[0].startswith("-"):
        print(_overview())
        if argv and argv[0] in ("-h", "--help"):
            return 0
        raise UserError(f"onlooker train needs a method first (one of: {', '.join(METHODS)}), or --resume RUN")
    refuse_old_flags(argv)
    allow(argv[0], _value_of("--env", argv) or "")
    options: Any = find(argv[0])
    # A preset changes the defaults that the command line starts from, so it is looked for first.
    preset, env = _value_of("--preset", argv), _value_of("--env", argv) or World.env
    base = make(argv[0], preset, env=env)
    default = Train(base.options, budget=base.budget)
    args: Train = parse(Train[options], argv[1:], f"onlooker train {argv[0]}", options.__doc__ or "", default)
    args.running.check()
    config = Config(argv[0], args.options, args.world, args.budget)
    return _train(start.begin(config, args.out), args.running)


def _train(ready: Ready, running: Running) -> int:
    from onlooker.interrupts import Interrupted
    from onlooker.loop import Listener, train
    from onlooker.report.curve import draw_curve

    folder = ready.folder
    with ExitStack() as stack:
        listeners: list[Listener] = [stack.enter_context(Progress(folder.config, folder.path)).show]
        if running.wandb:
            listeners.append(stack.enter_context(wandb_log.logging(folder)))

        def listener(iteration: int, metrics: dict[str, float]) -> None:
            for listener in listeners:
                listener(iteration, metrics)

        try:
            result = train(ready, running.threads, running.checkpoint_seconds, listener)
        except Interrupted:
            print(f"\nstopped and saved; go on with: onlooker train --resume {folder.path}", file=sys.stderr)
            return 130
        except UserError as failure:
            if folder.has_checkpoint:
                raise UserError(
                    f"{failure}; kept up to its last checkpoint: onlooker train --resume {folder.path}"
                ) from failure
            raise
    references = {"random actions": result["random_return"], "no action": result["zero_return"]}
    if "demo_return" in result:
        references = {"the demonstration": result["demo_return"], **references}
    draw_curve(folder.path, references)
    if not result["episodes"]:
        print("no training episode came to its end: give it more --steps, or fewer --num-envs")
    elif math.isnan(result["return"]):
        length = f"{result['episode_length']:.0f} steps"
        print(f"the last {result['episodes']} training episodes had {length}; no reward is known")
    else:
        print(f"return {result['return']:.1f} over the last {result['episodes']} training episodes")
    if "forward_speed" in result:
        print(f"forward speed {result['forward_speed']:.2f} m/s in the last rollout")
    if not math.isnan(result["eval_return_mean"]):
        spread = f"{result['eval_return_mean']:.1f} +- {result['eval_return_std']:.1f}"
        print(f"eval_return {spread} over {result['eval_episodes']} deterministic episodes")
        print("for comparison: " + ", ".join(f"{name} {value:.1f}" for name, value in references.items()))
    if "eval_forward_speed_mean" in result:
        told = f"{result['eval_forward_speed_mean']:.2f} m/s, {result['eval_length_mean']:.0f} steps"
        print(f"deterministic: {told}, over {result['eval_episodes']} episodes")
    if running.video:
        _film(ready)
    print(f"curve, metrics and policy are in {folder.path}")
    return 0


def _film(ready: Ready) -> None:
    """A film of the policy, beside the expert at home where there is one. Without a renderer: say so, and go on."""
    from onlooker.commands import video

    folder = ready.folder
    robot = shipped.robot_of(folder.config.world.env) if ready.shown is not None else None
    try:
        video.run([str(folder.path), "--steps", "300", *(["--beside", robot] if robot else [])])
    except UserError as failure:
        print(f"no film: {failure}")


def _value_of(flag: str, argv: list[str]) -> str | None:
    """What follows a flag, as `--flag value` or `--flag=value`."""
    for word, following in zip(argv, [*argv[1:], None]):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


def _overview() -> str:
    lines = [f"  {name:10} {(find(name).__doc__ or '').splitlines()[0]}" for name in METHODS]
    return "\n".join(
        [
            "usage: onlooker train METHOD [options]     learn (onlooker train METHOD --help lists the options)",
            "       onlooker train --resume RUN         go on with a run",
            "",
            "methods",
            *lines,
            "  MODULE:CLASS  a method of your own (docs/methods/your-own.md)",
        ]
    )
