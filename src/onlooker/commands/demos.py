"""onlooker demos: list, show, record, import, export and check demonstrations."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from onlooker import demos
from onlooker.commands.evaluate import find_policy
from onlooker.commands.parse import parse
from onlooker.demos import Demos, shipped, spreadsheets
from onlooker.demos.dataset import brief
from onlooker.envs.world import Factors
from onlooker.errors import UserError, nearest, printable
from onlooker.importing import allow

MOST_EPISODES = 10_000
Source = Annotated[str, tyro.conf.Positional]
Robot = Annotated[str | None, tyro.conf.arg(aliases=["--robot"])]


@dataclass(frozen=True)
class List:
    """The demonstrations that ship with the package."""


@dataclass(frozen=True)
class Show:
    """Say what a demonstration holds, and draw it: states over time, and a film strip where it can be rendered."""

    demo: Source
    """A file or a shipped one's name."""
    out: Path | None = None
    """The picture to write; DEMO.png by default."""
    env: Robot = None
    """Replay it on the robot of this environment, as a film; say which joints leave their range, and how deep it sinks
    into the floor."""
    film: Path | None = None
    """The film to write, .mp4 or .gif; DEMO.mp4 by default."""


@dataclass(frozen=True)
class Record(Factors):
    """Record whole deterministic episodes of a trained policy."""

    run: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, or a policy file: ours, or somebody else's .onnx with one input and one output."""
    env: str | None = None
    """The environment of a policy from another program."""
    expert: str | None = None
    """Or one of the shipped experts: ant, halfcheetah, hopper, walker2d."""
    out: Path = Path("demo.npz")
    """The demonstration file to write."""
    episodes: int = 1
    """How many episodes."""
    best_of: int | None = None
    """Run this many episodes and keep those with the highest returns."""
    states_only: bool = False
    """Leave the actions out."""
    overwrite: bool = False
    """Replace the file if it is there."""
    dynamics: str | None = None
    """Other physics than the policy's own."""
    trust: bool = False
    """Import the code of a stranger's own environment, if the policy names one."""


@dataclass(frozen=True)
class Import:
    """Make a demonstration of a recording: .csv, .hdf5, a plain .npz, or a Minari data set (minari:ID)."""

    source: Source
    """The recording."""
    out: Path = Path("demo.npz")
    """The demonstration file to write."""
    env: Robot = None
    """The environment that it is of. It is compared with it, and the file says so."""
    overwrite: bool = False
    """Replace the file if it is there."""
    map: str | None = None
    """For a table with columns named after joints: what else they are called, COLUMN=JOINT,... or a .toml file."""
    rate: float | None = None
    """The same: rows a second, where no column is named time."""
    degrees: bool = False
    """The same: angles are in degrees."""
    smooth: int = 1
    """The same: average positions over this many rows."""
    fill: float = 0.0
    """The same: interpolate gaps of up to so many seconds."""


@dataclass(frozen=True)
class Export:
    """Write a demonstration for other tools: .csv, .hdf5, .npz, or a Minari data set (minari:ID)."""

    demo: Source
    """A file or a shipped one's name."""
    target: Source
    """Where to: the ending says the format."""
    env: str | None = None
    """The environment's id, for Minari; by default what the demonstration says."""
    overwrite: bool = False
    """Replace the file if it is there."""


@dataclass(frozen=True)
class Check:
    """Say whether a recording can be used, and what is odd about it: units, order of columns, rate."""

    demo: Source
    """A file or a shipped one's name."""
    env: Robot = None
    """The environment that it is of, to compare it with; by default the one that it names."""


def run(argv: list[str]) -> int:
    """Do one of the six."""
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: onlooker demos ACTION [options]     (onlooker demos ACTION --help tells more)\n")
        for name, (arguments, _) in ACTIONS.items():
            print(f"  {name:8} {(arguments.__doc__ or '').splitlines()[0]}")
        return 0
    if argv[0] not in ACTIONS:
        raise UserError(f"unknown action {argv[0]!r}{nearest(argv[0], ACTIONS)}")
    arguments, act = ACTIONS[argv[0]]
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest: print(f"warning: {printable(str(message))}")
        args: Any = parse(arguments, argv[1:], f"onlooker demos {argv[0]}", arguments.__doc__ or "")
        if getattr(args, "env", None) is not None:
            allow(args.env)
        act(args)
    return 0


def describe(name: str, demo: Demos) -> str:
    """One line."""
    episodes = len(demo.lengths)
    parts = [f"{len(demo.obs)} states of {demo.obs.shape[1]} numbers", f"{episodes} episode{'s' * (episodes != 1)}"]
    parts.append("no actions" if demo.action is None else f"{demo.action.shape[1]} actions")
    returns = demo.returns()
    if returns is not None:
        parts.append(f"return {returns.mean():.0f}")
    if "env" in demo.meta:
        parts.append(brief(demo.meta["env"]))
    return f"{printable(name)}: {', '.join(parts)}"


def _list(args: List) -> None:
    for name in shipped.names():
        print(describe(name, demos.load(name)))


def _show(args: Show) -> None:
    demo = _load(args.demo, args.env)
    print(describe(args.demo, demo))
    for key, value in demo.meta.items():
        print(f"  {brief(key)}: {brief(value, 800)}")
    out = args.out or Path(f"{Path(args.demo).stem}.png")
    wanted = args.env is not None or args.film is not None
    demos.plot(demo, out, _replay(demo, args) if wanted else _film_strip(demo))
    print(f"drawn to {printable(str(out))}")


def _load(source: str, env: str | None, quiet: bool = False) -> Demos:
    """A recording; by joints, if it is a table of an environment's robot."""
    if env is None:
        return demos.load(source, quiet=quiet)
    from onlooker.demos import simulated

    return simulated.load(source, env, quiet=quiet)


def _film_strip(demo: Demos) -> list | None:
    """Frames of the recorded states, where the environment is known and can be rendered."""
    from onlooker.envs.render import replay_states

    try:
        return replay_states(demo)
    except UserError:
        return None


def _replay(demo: Demos, args: Show) -> list | None:
    """Say what is odd about the poses, and film them. Without a renderer: say so, and go on."""
    from onlooker.demos import replay, simulated
    from onlooker.envs.films import check_film_path, write_film

    env, out = args.env or simulated.named_env(demo), args.film or Path(f"{Path(args.demo).stem}.mp4")
    if env is None:
        raise UserError("the recording names no environment of Gymnasium's; give the one to replay it on with --env")
    check_film_path(out)
    kwargs = simulated.switches(demo, env)
    demos.check(demo, simulated.body_of(env, kwargs).obs_size, env)
    for line in replay.remarks(demo, env, kwargs):
        print(f"  {line}")
    try:
        frames, fps = replay.film(demo, env, kwargs)
    except UserError as failure:
        print(f"no film: {printable(str(failure))}")
        return None
    write_film(out, frames, fps)
    print(f"the film is in {printable(str(out))}")
    return frames


def _record(args: Record) -> None:
    from onlooker.evaluation import by_policy, evaluate, to_demos

    for flag, number in (("--episodes", args.episodes), ("--best-of", args.best_of)):
        if number is not None and not 1 <= number <= MOST_EPISODES:
            raise UserError(f"{flag} must be from 1 to {MOST_EPISODES:,}, not {number}")
    demos.check_new(args.out, args.overwrite)
    policy = find_policy(args.run, args.expert, args.trust, args.env)
    world = policy.world.under(args.dynamics, args)
    tried = max(args.episodes, args.best_of or 0)
    recordings = evaluate(world, by_policy(policy), tried)
    if args.best_of is not None:
        recordings = sorted(recordings, key=lambda recording: -recording.ret)
    demo = to_demos(recordings[: args.episodes], world, policy.meta)
    demos.save(args.out, demo.states_only() if args.states_only else demo, overwrite=args.overwrite)
    print(describe(str(args.out), demo))


def _import(args: Import) -> None:
    named = spreadsheets.names_joints(args.source)
    if named and args.env is not None:
        demo = _by_name(args, args.env)
    else:
        given = {"--map": args.map, "--rate": args.rate, "--degrees": args.degrees, "--fill": args.fill}
        for flag in (flag for flag, value in {**given, "--smooth": args.smooth > 1}.items() if value):
            whose = "needs --env" if named else "is for tables whose columns are named after joints"
            raise UserError(f"{flag} {whose}")
        demo = demos.import_file(args.source)
    if args.env is not None:
        demo = replace(demo, meta=demo.meta | {"env": args.env})
    _compare(demo, args.env, roll=False)
    demos.save(args.out, demo, overwrite=args.overwrite)
    print(describe(str(args.out), demo))


def _by_name(args: Import, env: str) -> Demos:
    """A table whose columns are named after the joints of the environment's robot."""
    from onlooker.demos import motion, simulated

    renamed = motion.parse_map(args.map) if args.map is not None else {}
    how = motion.Reading(renamed, args.rate, args.degrees, args.smooth, args.fill)
    return simulated.by_joints(args.source, env, None, how)


def _export(args: Export) -> None:
    demo = demos.load(args.demo)
    if args.env is not None:
        demo = replace(demo, meta=demo.meta | {"env": args.env})
    demos.export(demo, args.target, overwrite=args.overwrite)
    print(f"written to {args.target}")


def _check(args: Check) -> None:
    demo = _load(args.demo, args.env, quiet=True)
    odd = _compare(demo, args.env, roll=True)
    verdict = f"{odd} odd thing{'s' * (odd > 1)} about" if odd else "fine:"
    print(f"{verdict} {describe(args.demo, demo)}")


def _compare(demo: Demos, env: str | None, roll: bool) -> int:
    """Warn of what is odd about a recording, also as one of this environment or the one that it names; how much is."""
    from onlooker.demos import simulated

    if env is None:
        env = simulated.named_env(demo)
    if env is None:
        found = demos.check(demo)
        if isinstance(name := demo.meta.get("env"), str):  # a file must not choose what is imported or compiled
            print(f"not compared with the environment that it names, {brief(name)!r}: give it with --env")
    else:
        body = simulated.body_of(env, simulated.switches(demo, env))
        found = demos.check(demo, body.obs_size, env)
        found += simulated.odd(demo, env, simulated.switches(demo, env), roll)
    for line in found:
        warnings.warn(line, UserWarning, stacklevel=2)
    return len(found)


ACTIONS: dict[str, tuple[type, Callable[[Any], None]]] = {
    "list": (List, _list),
    "show": (Show, _show),
    "record": (Record, _record),
    "import": (Import, _import),
    "export": (Export, _export),
    "check": (Check, _check),
}
