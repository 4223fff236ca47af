"""The command line. It imports what a command needs only when the command runs, so that help comes at once."""

import os
import sys
import traceback
import warnings
from typing import Any

HELP = """\
onlooker: teach a simulated robot to move by watching another one.

usage: onlooker COMMAND [options]      (onlooker COMMAND --help tells more)

commands
  train METHOD    learn in a world with its own physics; `train --resume RUN` goes on with a run
  evaluate RUN    returns of whole deterministic episodes, also under other physics
  video RUN       film a trained policy
  grid FILE       many runs from one file, resumable, on Ray
  report RESULTS  tables, curves and comparisons from run folders: one page; --watch follows runs that go on
  analyze RESULTS the lower bound of the paper, from I2L runs and an oracle
  export RUN FILE a policy as ONNX or safetensors, for other programs
  demos           list, show, record, import, export and check demonstrations

methods
  i2l             imitate those few of your own episodes that lie closest to the expert's states
  gail-s, gaifo   be rewarded for states, or pairs of states, that look like the expert's
  bco             infer the expert's actions from your own experience, and clone them
  gail-sa, airl   the same as gail-s, and its cousin, for recordings with actions; bc clones them
  ppo             PPO on the true reward: makes experts, and is the oracle that imitators are measured against
  transfer        the expert's own policy, moved to another world as it is

first steps
  onlooker train i2l --env HalfCheetah-v5 --dynamics low-gravity --steps 1e6
  onlooker train ppo --env Hopper-v5 --dynamics low-gravity --steps 1e6 --out runs/hopper
  onlooker evaluate runs/hopper --dynamics high-friction
  onlooker video runs/hopper

physics
  --dynamics none | low-gravity | high-density | high-friction | high-damping
  --gravity 0.4   single factors replace the preset's: gravity, density, friction, damping, armature, stiffness,
                  gear, length; all but gravity also by name: --density torso=2,foot=0.5; and --wind 5,0,0,
                  --slope 5 (degrees), --delay 2 (control steps), --timestep 0.5

--debug shows where in the code a failure came from.
The docs folder has a page for each method, the run folder and the demonstration format.
"""

COMMANDS = ("train", "evaluate", "video", "demos", "grid", "analyze", "report", "export")


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    debug = "--debug" in argv
    argv = [word for word in argv if word != "--debug"]
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0
    if argv[0] == "--version":
        from onlooker import __version__

        print(__version__)
        return 0
    # Small matrices are faster on one thread, and give the same numbers whatever the machine's cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from onlooker.errors import UserError, nearest, printable

    try:
        if argv[0] not in COMMANDS:
            raise UserError(f"unknown command {argv[0]!r}{nearest(argv[0], COMMANDS)}")
        import importlib

        with warnings.catch_warnings():
            # JAX fears what forks. What is started here, ffmpeg, is another program at once.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called")
            warnings.showwarning = _once_in_a_line(set())
            return importlib.import_module(f"onlooker.commands.{argv[0]}").run(argv[1:])
    except BrokenPipeError:
        return 0
    except (UserError, OSError) as failure:
        if debug:
            traceback.print_exc()
        said = str(failure)
        if isinstance(failure, OSError):  # a full disk, a folder that went away
            said = f"{failure.filename or 'can not go on'}: {failure.strerror or failure}"
        print(f"onlooker: {printable(' '.join(said.split()))}", file=sys.stderr)
        return 2
    except MemoryError:
        if debug:
            traceback.print_exc()
        print("onlooker: there is not enough memory for this", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("onlooker: interrupted", file=sys.stderr)
        return 130


def _once_in_a_line(said: set[str]) -> Any:
    """How warnings are shown: each text once, and not where in the code it came from."""

    from onlooker.errors import printable

    def show(message: Warning | str, *where: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            print(f"onlooker: warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)

    return show


if __name__ == "__main__":
    sys.exit(main())
