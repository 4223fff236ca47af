"""onlooker video: film a policy, alone or beside another."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from onlooker.commands.evaluate import find_policy
from onlooker.commands.parse import parse
from onlooker.demos import shipped
from onlooker.envs.world import Factors, World
from onlooker.errors import UserError, printable
from onlooker.options.spelling import Count
from onlooker.policies.policy import Acts


@dataclass(frozen=True)
class Video(Factors):
    """A film of one deterministic episode, in the policy's own world or under other physics."""

    run: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, or a policy file: ours, or somebody else's .onnx with one input and one output."""
    env: str | None = None
    """The environment of a policy from another program."""
    expert: str | None = None
    """Or one of the shipped experts: ant, halfcheetah, hopper, walker2d."""
    out: Path | None = None
    """Where to write the film, .mp4 or .gif; video.mp4 in the run folder by default."""
    dynamics: str | None = None
    """Other physics than the policy's own: none, low-gravity, high-density, high-friction, high-damping."""
    steps: Count = 1000
    """Film at most this many steps."""
    seed: int = 0
    """Where the episode starts."""
    beside: str | None = None
    """Another run, policy file or shipped expert, filmed in its own world on the left."""
    trust: bool = False
    """Import the code of a stranger's own environment, if a policy names one."""


def run(argv: list[str]) -> int:
    """Film and say where the film is."""
    from onlooker.envs.films import check_film_path, side_by_side, write_film

    args = parse(Video, argv, "onlooker video", Video.__doc__ or "")
    policy = find_policy(args.run, args.expert, args.trust, args.env)
    other, other_name = (None, None) if args.beside is None else find_other(args.beside, args.trust)
    out = args.out or default_film(args.run, args.expert)
    check_film_path(out)
    if args.steps < 1:
        raise UserError(f"--steps must be at least 1, not {args.steps}")
    if not 0 <= args.seed < 2**32:
        raise UserError(f"--seed must be from 0 to {2**32 - 1}, not {args.seed}")

    world = policy.world.under(args.dynamics, args)
    frames, fps, caption = film_policy(policy, world, args.seed, args.steps, args.expert and "expert")
    told = [caption]
    if other is not None:
        left, left_fps, left_caption = film_policy(other, other.world, args.seed, args.steps, other_name)
        frames = side_by_side(at_fps(left, left_fps, fps), frames, (left_caption, caption))
        told = [f"left: {left_caption}", f"right: {caption}"]
    write_film(out, frames, fps)
    print("\n".join(line.replace("\n", ", ") for line in told))
    print(f"the film is in {out}")
    return 0


def find_other(name: str, trust: bool = False) -> tuple[Acts, str | None]:
    """The policy of a run or a file, or else of the shipped expert of this name; and what to call an expert."""
    if not Path(name).exists() and shipped.robot_of(name) is not None:
        return find_policy(None, name), "expert"
    return find_policy(Path(name), trust=trust), None


def default_film(run: Path | None, expert: str | None) -> Path:
    """RUN/video.mp4; beside a policy file; or in the working folder for a shipped expert."""
    if run is None:
        return Path(f"{expert}.mp4")
    return run / "video.mp4" if run.is_dir() else run.with_suffix(".mp4")


def film_policy(
    policy: Acts, world: World, seed: int, steps: int, name: str | None = None
) -> tuple[list[np.ndarray], float, str]:
    """One deterministic episode: its pictures [H, W, 3], how many to show a second, and what to say of it.

    The policy is called by the method that made it unless it has another name.
    """
    from onlooker.envs.make import pool_for
    from onlooker.envs.render import film, filming, pace
    from onlooker.evaluation import by_policy

    pool = pool_for(world, 1, seed)  # knows the sizes and bounds that the policy is checked against
    try:
        act = by_policy(policy)(pool)
    finally:
        pool.close()
    if sys.stderr.isatty():
        print(f"filming {printable(world.env)} ...", file=sys.stderr)
    with filming(world.env, world.env_kwargs, world.resolve(), world.max_episode_steps) as env:
        every, fps = pace(env)
        frames, ret = film(env, act, seed, steps, every)
    told = f"{world.resolve()}, {f'return {ret:,.1f} in ' * pool.has_reward}{(len(frames) - 1) / fps:.1f} s"
    return (
        frames,
        fps,
        f"{name or printable(str(policy.meta.get('method', 'policy')))} on {printable(world.env)}\n{told}",
    )


def at_fps(frames: list[np.ndarray], fps: float, wanted: float) -> list[np.ndarray]:
    """The same film with another number of pictures a second: two robots may keep different time."""
    count = max(1, round(len(frames) * wanted / fps))
    return [frames[min(int(i * fps / wanted), len(frames) - 1)] for i in range(count)]
