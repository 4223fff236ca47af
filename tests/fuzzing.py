"""Broken files and command lines, by rule and by chance: each must end in one clear line, and nothing may come of it.

python tests/fuzzing.py --cases 10000 --seed 1        (make fuzz)

A case is a command line, in a folder of its own with the files it names. All run in this one process, under a limit on
memory. After each: exit code 2, one line on stderr, no traceback, nothing written but what the case brought along, no
import of the module that lies in wait.
"""

import argparse
import contextlib
import dataclasses
import gzip
import io
import itertools
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlooker import importing, storage
from onlooker.__main__ import main
from onlooker.demos import Demos, save
from onlooker.envs.world import Factors
from onlooker.methods import METHODS
from onlooker.options.bounds import ANY, _bounds_in

MEMORY = 12 * 2**30  # of addresses: JAX and MuJoCo reserve some that they never touch
PROCESS = 2000  # cases in one process
PLANTED = "lies_in_wait"  # a module in the working folder that no data may have imported
HOPPER = {"env": "Hopper-v5", "steps": 256, "num_envs": 2, "steps_per_iteration": 128}
OK_TOO = ("report", "demo, torn")  # one bad run must not stop a report, and a changed byte may do no harm


class Case(NamedTuple):
    """What is typed, and the files that it names."""

    kind: str
    argv: list[str]
    files: dict[str, bytes]


# ------------------------------------------------------------------------------------------------------ what is broken

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0.5, 10**40, math.nan, "", "x", "\x1b[31m", "\ud800", "../../escaped", "a" * 5000),
    *([], [1], {}, {"a": 1}, [[["deep"]]], {"env": f"{PLANTED}:make"}),
)


def spoiled(data: Any, rng: random.Random) -> Any:
    """A tree of plain values with one leaf or branch replaced by something of another kind, or taken away."""
    if isinstance(data, dict) and data and rng.random() < 0.85:
        name = rng.choice(sorted(data))
        if rng.random() < 0.15:
            return {key: value for key, value in data.items() if key != name}
        return data | {name: spoiled(data[name], rng)}
    return rng.choice([wrong for wrong in WRONG if type(wrong) is not type(data)])


def torn(data: bytes, rng: random.Random) -> bytes:
    """A file with bytes changed, cut off or put in."""
    if rng.random() < 0.4:
        return data[: rng.randrange(len(data))]
    place = rng.randrange(len(data))
    noise = bytes(rng.randrange(256) for _ in range(rng.choice((1, 8, 64))))
    keep = place + (len(noise) if rng.random() < 0.5 else 0)
    return data[:place] + noise + data[keep:]


def json_bytes(data: Any) -> bytes:
    return json.dumps(data).encode("utf-8", "surrogatepass")


# ---------------------------------------------------------------------------------------------------------- good files


class Good:
    """Whole files of every kind, to be broken."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder, quiet():
            here = Path(folder)
            assert main(["train", "ppo", *flags(HOPPER), "--out", str(here / "run")]) == 0
            self.run = {
                name: (here / "run" / name).read_bytes() for name in ("config.json", "metrics.csv", "timing.csv")
            }
            self.result = (here / "run" / "result.json").read_bytes()
            self.policy = (here / "run" / "policy.npz").read_bytes()
            self.arrays, self.meta = storage.load_arrays(here / "run" / "policy.npz")
            self.checkpoint = {path.name: path.read_bytes() for path in (here / "run" / "checkpoints").iterdir()}
            states = np.random.default_rng(0).standard_normal((50, 11))
            save(here / "demo.npz", Demos(states, action=states[:, :3], meta={"env": "Hopper-v5"}))
            self.demo = (here / "demo.npz").read_bytes()
            assert main(["report", str(here / "run"), "--pack", str(here / "packed")]) == 0
            self.packed = {path.name: path.read_bytes() for path in (here / "packed").iterdir() if path.is_file()}
        self.states = states

    def sealed(self, arrays: dict[str, Any], meta: Any) -> bytes:
        """A policy file whose checksum is right, whatever it holds."""
        with tempfile.TemporaryDirectory() as folder:
            storage.save_arrays(Path(folder) / "p.npz", arrays, meta)
            return (Path(folder) / "p.npz").read_bytes()


def flags(settings: dict[str, Any]) -> list[str]:
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]


# -------------------------------------------------------------------------------------------------------------- cases


def option_cases() -> list[Case]:
    """Every number of every method outside of its bounds, and words where numbers should be."""
    cases = []
    for method, options in METHODS.items():
        for flag, bounds, whole in numbers_of(options):
            bad = ["nan", "inf", "-inf", "one", "", "1e400"]
            bad += [] if bounds.least == -math.inf else [str(int(bounds.least) - 1)]
            bad += [] if bounds.most == math.inf else [f"{bounds.most * 10 + 1:.0f}"]
            bad += [f"{bounds.least:.0f}"] if bounds.above else []
            bad += ["0.5"] if whole else []
            cases += [Case("options", ["train", method, "--env", "Hopper-v5", flag, word], {}) for word in bad]
    return cases


def numbers_of(options: Any, prefix: str = "--") -> Iterator[tuple[str, Any, bool]]:
    """(flag, bounds, whether it is a whole number) of a method's options."""
    kinds = typing.get_type_hints(options, include_extras=True)
    for field in dataclasses.fields(options):
        kind, flag = kinds[field.name], f"{prefix}{field.name.replace('_', '-')}"
        if dataclasses.is_dataclass(kind):
            yield from numbers_of(kind, f"{flag}.")
        elif ("float" in str(kind) or "int" in str(kind)) and field.name != "match_dims":
            yield flag, next(_bounds_in(kind), ANY), "float" not in str(kind)


COMMAND_LINES = [
    *(f"train i2l --env Hopper-v5 --match-dims {word}" for word in ("5-2", "0-999999999", "x", "-1", "0,0", "99")),
    *(f"train ppo --env Hopper-v5 --env-kwargs {word}" for word in ("frame_skip=1.5", "frame_skip=-1", "nonsense=1")),
    *(f"train ppo --env Hopper-v5 --env-kwargs {word}" for word in ("reset_noise_scale=nan", "render_mode=human", "{")),
    *(f"train ppo --env Hopper-v5 --max-episode-steps {word}" for word in ("1e12", "0", "-1", "nan", "1.5")),
    *(f"train ppo --env Hopper-v5 --steps-per-iteration {word}" for word in ("1e12", "0", "7.5", "inf")),
    *(
        f"train ppo --env Hopper-v5 --density {word}"
        for word in ("=2", "torso=2,torso=3", "1e-300", "0", "-1", "nose=2")
    ),
    *(f"train ppo --env Hopper-v5 --gravity {word}" for word in ("nan", "torso=2", "", "0", "1e300", "two")),
    *(f"train ppo --env Hopper-v5 --wind {word}" for word in ("nan", "1,2", "1,2,3,4", "x", "")),
    *(
        f"train ppo --env {word}"
        for word in ("Hoper-v5", "os:system", "subprocess:call", "nowhere:make", "a/b/c", "x.xml")
    ),
    *(
        f"train {word} --env Hopper-v5"
        for word in ("i2", "nowhere:Method", "os:path", "os:system", "--nonsense", "ppo --x")
    ),
    "train ppo --env Hopper-v5 --dynamics none --dynamics lowgravity",
    "train i2l --env Hopper-v5 --demo nowhere.npz",
    "train ppo --env Swimmer-v5 --friction 2",
    "train i2l --env Hopper-v5 --preset papper",
    "train transfer --env Hopper-v5 --expert halfcheetah",
    "train --resume nowhere",
    "train --resume . --steps 5",
    *(
        "evaluate",
        "evaluate nowhere",
        "evaluate .",
        "evaluate --expert nobody",
        "evaluate --expert hopper --episodes 0",
    ),
    *(
        "video nowhere",
        "video --expert hopper --out x.png",
        "video --expert hopper --steps 0",
        "video --expert hopper --seed -1",
    ),
    *(
        "report nowhere",
        "report .",
        "analyze nowhere",
        "grid nowhere.toml",
        "nonsense",
        "demos nonsense",
        "demos show nowhere",
    ),
    *("demos check nowhere.npz", "demos import nowhere.csv", "demos record --expert nobody", "demos export hopper"),
]


def command_line_cases() -> list[Case]:
    cases = [Case("command line", line.split(" "), {}) for line in COMMAND_LINES]
    cases.append(Case("command line", ["train", "ppo", "--env", "Hopper-v5", "--out", "a\0b"], {}))
    cases.append(Case("command line", ["train", "i2l", "--env", "Hopper-v5", "--demo", ""], {}))
    return cases


GRIDS = [
    *(
        "cells=5",
        "cells=[1,2]",
        "[cells]",
        "defaults=5",
        "defaults=[1]",
        "",
        "[[cells]]",
        "[[cels]]\nmethod='ppo'",
        "\x00",
    ),
    *(f"[[cells]]\nmethod={word}" for word in ("5", "[['ppo']]", "{a=1}", "'pppo'", "''", "[]", f"'{PLANTED}:Method'")),
    *(
        f"[[cells]]\nmethod='ppo'\nenv={word}"
        for word in ("5", "'os:system'", f"'{PLANTED}:make'", "[]", "{}", "'Nix-v0'")
    ),
    *(
        f"[[cells]]\nmethod='ppo'\nlabel={word}"
        for word in ("'x/../../../../escaped'", "5", "'..'", "'a\\u0000b'", f"'{'a' * 101}'")
    ),
    *(f"[[cells]]\nmethod='ppo'\nsteps={word}" for word in ("-1", "'many'", "nan", "1e400", "[1, 'x']", "1979-05-27")),
    *(
        f"[[cells]]\nmethod='ppo'\nppo={word}"
        for word in ("5", "{epochs=0}", "{epoch=1}", "[{epochs=0}]", "{epochs={a=1}}")
    ),
    f"[[cells]]\nmethod='ppo'\nseed={list(range(1000))}\nnum_envs={[8] * 1000}\nsteps={[1000] * 1000}\n",
    "a=" + "[" * 5000 + "]" * 5000,
]


def grid_cases() -> list[Case]:
    return [Case("grid", ["grid", "g.toml", "--dry-run", "--out", "out"], {"g.toml": text.encode()}) for text in GRIDS]


def demo_case(good: Good, rng: random.Random) -> Case:
    """A recording that can't be used."""
    command = rng.choice((["demos", "check", "{}"], ["train", "i2l", "--env", "Hopper-v5", "--demo", "{}"]))
    kind = rng.choice(("torn", "arrays", "csv", "object", "meta"))
    name = "d.npz"
    if kind == "torn":
        command, data = ["demos", "check", "{}"], torn(good.demo, rng)
    elif kind == "csv":
        rows = [[f"{number:.3f}" for number in row] for row in good.states[:6]]
        row, column = rng.randrange(6), rng.randrange(11)
        rows[row][column] = rng.choice(("nan", "x", "", "1e999", "0,0", '"', "1 2"))
        name, data = "d.csv", "\n".join(map(",".join, [[f"obs_{i}" for i in range(11)], *rows])).encode()
    else:
        arrays: dict[str, Any] = {"obs": good.states, "action": good.states[:, :3]}
        if kind == "object":
            arrays["obs"] = np.array([{"a": 1}] * 3, object)
        elif kind == "meta":
            arrays["meta"] = np.array("[" * 100_000)
        else:
            wrong = rng.choice(
                (np.zeros(0), np.zeros((3, 0)), good.states * np.nan, np.zeros((2, 2, 2, 2)), np.array("x"))
            )
            arrays[rng.choice(("obs", "lengths", "terminated"))] = wrong
        packed = io.BytesIO()
        np.savez(packed, **arrays)
        data = packed.getvalue()
    return Case(f"demo, {kind}", [word.format(name) for word in command], {name: data})


def policy_case(good: Good, rng: random.Random) -> Case:
    """A stranger's policy."""
    kind = rng.choice(("torn", "meta", "arrays", "planted", "hidden"))
    arrays, meta = dict(good.arrays), json.loads(json.dumps(good.meta))
    if kind == "torn":
        data = torn(good.policy, rng)
        return Case("policy, torn", ["evaluate", "p.npz"], {"p.npz": data})
    if kind == "meta":
        meta = rng.choice(({}, [], 5, *({key: value for key, value in meta.items() if key != name} for name in meta)))
    elif kind == "arrays":
        name = rng.choice(sorted(arrays))
        changed = (arrays[name][None], arrays[name] * np.nan, arrays[name].astype(np.int64), np.zeros(()), None)
        new = rng.choice(changed)
        arrays.pop(name)
        arrays |= {} if new is None else {name: new}
    elif kind == "planted":
        meta["world"] = meta["world"] | {"env": rng.choice((f"{PLANTED}:make", "os:system", f"{PLANTED}:Id-v0"))}
    else:
        meta["options"] = meta["options"] | {"hidden": rng.choice(([10**9], [64] * 100, [0], [-1], "x", [64, "x"], []))}
    command = rng.choice(
        (["evaluate", "p.npz"], ["evaluate", "p.npz", "--dynamics", "none"], ["export", "p.npz", "p.onnx"])
    )
    return Case(f"policy, {kind}", command, {"p.npz": good.sealed(arrays, meta)})


def run_case(good: Good, rng: random.Random) -> Case:
    """A run folder that can't go on."""
    files = {f"run/{name}": data for name, data in good.run.items()}
    files |= {f"run/checkpoints/{name}": data for name, data in good.checkpoint.items()}
    kind = rng.choice(("torn config", "config", "planted", "checkpoint", "format"))
    config = json.loads(good.run["config.json"])
    if kind == "torn config":
        files["run/config.json"] = rng.choice((b"", b"[" * 100_000, b"\xff\xfe", good.run["config.json"][:-40]))
    elif kind == "config":
        part = rng.choice(("world", "budget", "options"))
        name = rng.choice(sorted(config[part]))
        wrong = [wrong for wrong in WRONG if not isinstance(wrong, type(config[part][name])) and wrong is not None]
        new = rng.choice(
            [w for w in wrong if not (name in LOOSE and (w == "" or isinstance(w, bool | int | float | dict)))]
        )
        files["run/config.json"] = json_bytes(config | {part: config[part] | {name: new}})
    elif kind == "planted":
        key = rng.choice(("env", "method"))
        changed = (
            {"method": f"{PLANTED}:Method"}
            if key == "method"
            else {"world": config["world"] | {"env": f"{PLANTED}:make"}}
        )
        files["run/config.json"] = json_bytes(config | changed)
    elif kind == "checkpoint":
        # A policy where a checkpoint should be, with a checksum of its own.
        files = {name: data for name, data in files.items() if "checkpoints" not in name}
        files["run/checkpoints/00000001.npz"] = good.policy
    else:
        files["run/config.json"] = json_bytes(
            config | rng.choice(({"format": 2}, {"version": "9.9"}, {"format": None}))
        )
    return Case(f"run, {kind}", ["train", "--resume", "run"], files)


LOOSE = ("env_kwargs", *Factors.__dataclass_fields__)  # what may be of several kinds


def report_case(good: Good, rng: random.Random) -> Case:
    """Results of which one is bad; the rest must still be told."""
    files = {f"results/good/{name}": data for name, data in good.run.items()} | {
        "results/good/result.json": good.result
    }
    kind = rng.choice(("run", "packed", "bomb"))
    if kind == "run":
        name = rng.choice(("config.json", "metrics.csv", "timing.csv", "result.json"))
        whole = good.result if name == "result.json" else good.run[name]
        if name.endswith("json"):
            broken = json_bytes(spoiled(json.loads(whole), rng)) if rng.random() < 0.7 else b"[" * 100_000
        else:
            broken = torn(whole, rng) if rng.random() < 0.8 else b"steps,return\n1," + b"9" * 200_000 + b"\n"
        files |= {f"results/bad/{other}": data for other, data in good.run.items()} | {f"results/bad/{name}": broken}
    elif kind == "packed":
        name = rng.choice(sorted(good.packed))
        files |= {f"results/packed/{other}": data for other, data in good.packed.items()}
        files[f"results/packed/{name}"] = torn(good.packed[name], rng)
    else:
        files |= {f"results/packed/{other}": data for other, data in good.packed.items()}
        files["results/packed/curves.csv.gz"] = gzip.compress(b"0" * 20_000_000)
    return Case(f"report, {kind}", ["report", "results", "--out", "page"], files)


# A report takes half a second, the others a twentieth of that.
BY_CHANCE: tuple[Callable[[Good, random.Random], Case], ...] = (*(demo_case, policy_case, run_case) * 6, report_case)


def all_cases(count: int, seed: int) -> Iterator[Case]:
    """`count` cases: a share of those by rule, the rest by chance."""
    rng = random.Random(seed)
    by_rule = [*option_cases(), *command_line_cases(), *grid_cases()]
    rng.shuffle(by_rule)
    share = by_rule[: count // 2]
    good = Good()
    yield from share
    for number in range(count - len(share)):
        yield BY_CHANCE[number % len(BY_CHANCE)](good, rng)


# -------------------------------------------------------------------------------------------------------------- running


@contextlib.contextmanager
def quiet() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield out, err


def wrong_with(case: Case, folder: Path) -> str:
    """What is wrong with how a case ends; nothing if all is well."""
    here = folder / "here"
    here.mkdir()
    (here / f"{PLANTED}.py").write_text("raise SystemExit('imported')\n")
    for name, data in case.files.items():
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    before = snapshot(folder)
    os.chdir(here)
    try:
        with quiet() as (out, err):
            importing._typed.clear()  # what one case typed, another's file must not name
            code = main(case.argv)
    except BaseException:
        return "raised\n" + traceback.format_exc()
    finally:
        os.chdir("/")
    said = err.getvalue()
    if PLANTED in sys.modules:
        return "imported the planted module"
    if "Traceback" in said + out.getvalue() or "\x1b" in said + out.getvalue():
        return f"a traceback or an escape: {said!r}"
    if code == 0 and case.kind.startswith(OK_TOO):
        return ""
    if code != 2:
        return f"exit code {code}: {said!r} {out.getvalue()[-300:]!r}"
    lines = [line for line in said.splitlines() if not line.startswith("onlooker: warning:")]
    if len(lines) != 1 or not lines[0].startswith("onlooker: "):
        return f"not one line: {said!r}"
    new = {
        path for path in snapshot(folder) - before if not path.startswith(("here/page", "here/out", "here/run/.lock"))
    }
    return f"wrote {sorted(new)}" if new else ""


def snapshot(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


def run(count: int, seed: int, first: int, last: int) -> list[str]:
    """The failures among `count` cases, from the first of them to before the last."""
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        cases = itertools.islice(enumerate(all_cases(count, seed)), first, last)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for number, case in cases:
            folder = Path(scratch) / str(number)
            folder.mkdir()
            wrong = wrong_with(case, folder)
            if wrong:
                failures.append(f"{number} ({case.kind}): {case.argv}\n    {wrong}")
                print(failures[-1], flush=True)
            shutil.rmtree(folder)
    print(f"cases {first} to {min(last, count) - 1}: {len(failures)} failures", flush=True)
    return failures


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--cases", type=int, default=1000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--first", type=int, help=argparse.SUPPRESS)
    given = words.parse_args()
    if given.first is not None or given.cases <= PROCESS:
        found = run(given.cases, given.seed, given.first or 0, (given.first or 0) + PROCESS)
        sys.exit(bool(found))
    # A process that has run thousands of commands has used up its addresses, so each has its part of them.
    parts = [subprocess.run([sys.executable, *sys.argv, "--first", str(n)]) for n in range(0, given.cases, PROCESS)]
    sys.exit(any(part.returncode for part in parts))
