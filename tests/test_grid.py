"""Grid files: what they expand into, and what is said of bad ones. Running them is tests/test_fleet.py."""

import json
import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import onlooker
from onlooker import storage
from onlooker.__main__ import main
from onlooker.commands.grid import Board
from onlooker.errors import UserError
from onlooker.grid import cluster, fleet, hours, plan
from onlooker.grid.fleet import Overview
from onlooker.grid.plan import Cell

GRIDS = Path(__file__).parents[1] / "grids"
SMALL = """
[defaults]
steps = 512
steps_per_iteration = 256
num_envs = 4
ppo = { minibatches = 4 }
[[cells]]
method = "ppo"
env = "Pendulum-v1"
seed = [0, 1]
"""
TINY: dict[str, Any] = {"steps_per_iteration": 256, "num_envs": 4, "ppo": {"minibatches": 4}}  # the same in Python


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_lists_multiply_and_tables_override_defaults(tmp_path: Path) -> None:
    text = """
    [defaults]
    method = "ppo"
    steps = 1e6
    [[cells]]
    env = ["Hopper-v5", "Ant-v5"]
    dynamics = ["none", "low-gravity"]
    seed = [0, 1]
    [[cells]]
    env = "Hopper-v5"
    steps = 2e6
    label = "long"
    policy = { hidden = [32, 32] }
    """
    cells = plan.read(write(tmp_path / "g.toml", text))
    assert len(cells) == 2 * 2 * 2 + 1
    assert cells[0].name == "ppo-Hopper-v5-none-s0"
    assert cells[-1].name == "ppo-Hopper-v5-none-s0-long"
    assert (cells[0].config.budget.steps, cells[-1].config.budget.steps) == (1_000_000, 2_000_000)
    assert cells[-1].config.options.policy.hidden == (32, 32)


@pytest.mark.parametrize(
    ("name", "cells", "steps"),
    [
        ("paper", 16 * 17 + 4 + 16, (16 * 16 + 4 + 16) * 5e6 + 4 * 5e6 + 16 * 1e5),
        ("ablation-capacity", 6 * 8, 6 * 8 * 5e6),
        ("lower-bound", 4, 4 * 5e6),
        ("mismatch-sweep", 2 * 2 * 7 + 2 * 7, 28 * 5e6 + 14 * 1e5),
        ("smoke", 9, 9 * 8192),
        ("screen-cells", 8, 8 * 1.5e6),
        ("experts", 4, (8 + 8 + 6 + 16) * 1e6),
    ],
)
def test_shipped_grids_hold_the_cells_that_they_name(name: str, cells: int, steps: float) -> None:
    read = plan.read(GRIDS / f"{name}.toml")
    assert len(read) == cells
    assert sum(cell.config.budget.steps for cell in read) == steps


def test_what_is_packed_as_finished_with_the_same_settings_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, runs, packed = write(tmp_path / "g.toml", SMALL), tmp_path / "runs", tmp_path / "packed"
    first, second = plan.read(path)
    onlooker.train("ppo", out=runs / first.name, env="Pendulum-v1", steps=512, **TINY)
    plan.prepare(second, runs)  # begun, and no more
    assert main(["report", str(runs), "--pack", str(packed)]) == 0

    def left(text: str) -> list[str]:
        capsys.readouterr()
        grid = write(tmp_path / "other.toml", text)
        assert main(["grid", str(grid), "--out", str(tmp_path / "new"), "--packed", str(packed), "--dry-run"]) == 0
        return re.findall(r"^(ppo-\S+):", capsys.readouterr().out, re.MULTILINE)

    assert left(SMALL) == [second.name]
    assert left(SMALL.replace("minibatches = 4", "minibatches = 8")) == [first.name, second.name]
    assert left(SMALL.replace("[0, 1]", "0")) == []
    # A run of before an option came did what the option does at its neutral value.
    configs = json.loads((packed / "configs.json").read_text())
    del configs[first.name]["options"]["ppo"]["value_clip"], configs[first.name]["options"]["ppo"]["fall"]
    (packed / "configs.json").write_text(json.dumps(configs))
    assert left(SMALL) == [first.name, second.name]  # value_clip was always there: who knows what it was
    configs[first.name]["options"]["ppo"]["value_clip"] = 0.0
    (packed / "configs.json").write_text(json.dumps(configs))
    assert left(SMALL) == [second.name]
    assert main(["grid", str(path), "--packed", str(tmp_path / "nowhere"), "--dry-run"]) == 2


def test_every_shipped_grid_is_in_the_documentation() -> None:
    page = (GRIDS.parent / "docs" / "grids.md").read_text()
    assert [path.stem for path in GRIDS.iterdir() if f"`{path.stem}`" not in page] == []


def test_candidates_are_judged_in_worlds_and_with_seeds_that_no_result_has() -> None:
    cells = plan.read(GRIDS / "screen-cells.toml")
    worlds = [cell.config.world for cell in cells]
    assert {(world.env.removesuffix("-v5"), *world.resolve().changes.items()) for world in worlds} == {
        ("HalfCheetah", ("gravity", 0.7)),
        ("HalfCheetah", ("density", 1.5)),
        ("Hopper", ("density", 1.5)),
        ("Hopper", ("friction", 2.0)),
        ("Walker2d", ("gravity", 0.7)),
        ("Walker2d", ("density", 1.5)),
        ("Ant", ("gravity", 0.7)),
        ("Ant", ("friction", 2.0)),
    }
    assert all(cell.config.budget.seed >= 100 for cell in cells)


def test_every_path_of_a_grid_in_the_documentation_is_there() -> None:
    root = GRIDS.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *root.glob("results/*/grid.toml"), *GRIDS.iterdir()]
    path = re.compile(r"\b(?:grids|results)/[\w-]+(?:/grid)?\.toml")
    named = {found for page in pages for found in path.findall(page.read_text())}
    assert {"grids/smoke.toml", "results/screen-i2l/grid.toml"} <= named
    assert [found for found in sorted(named) if not (root / found).exists()] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[cells]]\nmethod = 'pppo'", "did you mean 'ppo'"),
        ("[[cells]]\nmethod = 'ppo'\nstps = 5", "did you mean 'steps'"),
        ("[[cells]]\nmethod = 'ppo'\ndynamics = 'low-grav'", "did you mean 'low-gravity'"),
        ("[[cell]]\nmethod = 'ppo'", "did you mean 'cells'"),
        ("[defaults]\nsteps = 5", "holds no .*cells"),
        ("[[cells]\n", "line 1"),
        ("[[cells]]\nmethod = 'ppo'\n[[cells]]\nmethod = 'ppo'", "give their tables a label"),
    ],
)
def test_a_bad_file_is_named_before_anything_starts(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as failure:
        plan.read(write(tmp_path / "bad.toml", text))
    assert "bad.toml" in str(failure.value)


def test_a_bad_value_is_named_with_its_line(tmp_path: Path) -> None:
    text = "[defaults]\nsteps = 5\nseed = 0\n\n[[cells]]\nmethod = 'ppo'\nenv = 'Hoper-v5'\n"
    with pytest.raises(UserError, match="line 7: unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'"):
        plan.read(write(tmp_path / "bad.toml", text))
    text = text.replace("Hoper", "Hopper").replace("seed", "sed")
    with pytest.raises(UserError, match="line 3: unknown option 'sed'"):
        plan.read(write(tmp_path / "bad.toml", text))


PPO = "[[cells]]\nmethod = 'ppo'\nenv = 'Pendulum-v1'\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("\ncells = 5", 2, "'cells' must be tables"),
        ("\ncells = [1, 2]", 2, "'cells' must be tables"),
        ("\n[cells]\nmethod = 'ppo'", 2, "double brackets"),
        ("defaults = 5\n" + PPO, 1, "'defaults' must be a table"),
        ("defaults = [1]\n" + PPO, 1, "'defaults' must be a table"),
        ("[[cells]]\nmethod = 5", 2, "'method' must be a text"),
        ("[[cells]]\nmethod = [['ppo']]", 2, "'method' must be a text"),
        ("[[cells]]\nmethod = {a = 1}", 2, "'method' must be a text"),
        ("[[cells]]\nmethod = 'ppo'\nenv = 5", 3, "'env' must be a text"),
        ("[[cells]]\nmethod = 'ppo'\nenv = [['Pendulum-v1']]", 3, "'env' must be a text"),
        ("[[cells]]\nmethod = 'ppo'\ndynamics = {a = 1}", 3, "'dynamics' must be a text"),
        ("[[cells]]\nmethod = 'i2l'\npreset = 1", 3, "'preset' must be a text"),
        (PPO + "seed = [[0]]", 4, "seed"),
        (PPO + "seed = {a = 0}", 4, "seed"),
        (PPO + "steps = 'many'", 4, "'many' is no whole number"),
        (PPO + "steps = [{a = 1}]", 4, "steps"),
        (PPO + "steps = 0", 4, "steps"),
        (PPO + "steps = nan", 4, "steps"),
        ("[[cells]]\nmethod = 'i2l'\nmatch_dims = '0-99999999999'", 3, "names no entries"),
        (PPO + "env_kwargs = {name = 1, call = 2}", 4, "unexpected keyword"),
        (PPO + "steps = 1" + "0" * 400, 4, "'steps' is too large a number"),
        (PPO + "gravity = [[1.0]]", 4, "gravity"),
        (PPO + "gravity = true", 4, "gravity"),
        (PPO + "ppo = 5", 4, "ppo"),
        (PPO + "ppo = [[{epochs = 1}]]", 4, "ppo"),
        (PPO + "ppo = {epochs = {a = 1}}", 4, "epochs"),
        (PPO + "policy = {hidden = [[32]]}", 4, "hidden"),
        (PPO + "policy = {hidden = {a = 1}}", 4, "hidden"),
        (PPO + "env_kwargs = [[1]]", 4, "env_kwargs"),
        (PPO + "env_kwargs = 1979-05-27", 4, "'env_kwargs' is a date; settings are texts"),
        (PPO + "seed = [07:32:00]", 4, "'seed' is a time; settings are texts"),
        (PPO + "label = 5", 4, "'label' must be a text"),
        (PPO + "label = ['a', 'b']", 4, "'label' must be a text"),
        (PPO + "seed = []", 4, "'seed' is an empty list"),
        ("[defaults]\nseed = []\n" + PPO, 2, "'seed' is an empty list"),
        (PPO + 'env_kwargs = {g = "a\\u0000b"}', 4, "can't be printed"),
        (PPO + "x = " + "[" * 50 + "]" * 50, 4, "'x' is nested too deeply"),
        (PPO + ".".join("a" * 50) + " = 1", 4, "'a' is nested too deeply"),
        (PPO + "x = [\n" + "[\n" * 90_000, 12, "nested too deeply"),
        (PPO + "x = " + "[" * 100_000, 4, "longer than 4,000 characters"),
        (PPO + "seed = 2\nseed = 3", 5, "Cannot overwrite a value"),
        (PPO + "seed = ", 4, "Invalid value"),
        (PPO + PPO, 4, "two cells are both named ppo-Pendulum-v1-none-s0"),
        (PPO + "seed = [0, 0]", 1, "two cells are both named"),
    ],
)
def test_whatever_a_file_holds_is_answered_in_one_line(tmp_path, capsys, text: str, line: int, said: str) -> None:
    path = write(tmp_path / "bad.toml", text)
    assert main(["grid", str(path), "--dry-run"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"onlooker: {path}, line {line}: ")
    assert said in complaint
    assert complaint.count("\n") == 1
    assert len(complaint) < 1500


def test_what_is_no_text_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    """A pipe that nobody writes to would be waited for; a file without an end would fill the memory."""
    os.mkfifo(tmp_path / "pipe")
    for path, said in ((tmp_path / "pipe", "no regular file"), (tmp_path, "a folder"), (tmp_path / "none", "No such")):
        with pytest.raises(UserError, match=said):
            plan.read(path)
    with (tmp_path / "huge.toml").open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(UserError, match="more than 200,000 bytes"):
        plan.read(tmp_path / "huge.toml")
    (tmp_path / "latin.toml").write_bytes(b"[[cells]]\nmethod = 'ppo'\n# gr\xf6\xdfer\n")
    with pytest.raises(UserError, match="line 3: no UTF-8 text"):
        plan.read(tmp_path / "latin.toml")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + PPO.encode())  # as Windows' editor writes it
    assert len(plan.read(tmp_path / "bom.toml")) == 1


@pytest.mark.parametrize(("lists", "count"), [(3, "1,000,000"), (6, "1,000,000,000,000")])
def test_a_grid_of_too_many_cells_is_refused_at_once(tmp_path: Path, lists: int, count: str) -> None:
    names = ("seed", "steps", "gravity", "density", "friction", "damping")[:lists]
    text = PPO + "".join(f"{name} = {list(range(1, 101))}\n" for name in names)
    began = time.monotonic()
    with pytest.raises(UserError, match=f"line 1: {count} cells up to here, and a grid has at most 10,000"):
        plan.read(write(tmp_path / "g.toml", text))
    assert time.monotonic() - began < 1.0
    with pytest.raises(UserError, match=f"line {2 + 5_001}: 10,002 cells"):  # many small tables
        plan.read(write(tmp_path / "g.toml", "[defaults]\nseed = [0, 1]\n" + "[[cells]]\n" * 6_000))


@pytest.mark.parametrize(
    "label",
    ["x/../../../../escaped", "../x", "/x", "..", ".", "a\\\\b", "c:x", "a b", "x" * 101, "\\u001b[31m", "\\u0000"],
)
def test_a_label_is_a_name(tmp_path: Path, capsys, label: str) -> None:
    path = write(tmp_path / "g.toml", f'{PPO}steps = 256\nsteps_per_iteration = 256\nlabel = "{label}"')
    assert main(["grid", str(path), "--out", str(tmp_path / "a" / "b" / "out")]) == 2
    complaint = capsys.readouterr().err
    assert f"{path}, line 6: " in complaint
    assert complaint.rstrip("\n").isprintable()
    assert os.listdir(tmp_path) == ["g.toml"]


def test_a_cell_never_leaves_its_folder(tmp_path: Path) -> None:
    """Whoever makes cells by themselves."""
    cell = plan.read(write(tmp_path / "g.toml", PPO))[0]
    for name in ("../x", "..", ".", "", "a/b", str(tmp_path / "x")):
        with pytest.raises(UserError, match="no name of a folder"):
            plan.prepare(Cell(name, cell.config, None), tmp_path / "out")
    assert os.listdir(tmp_path) == ["g.toml"]


SPY = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
import gymnasium as gym
from onlooker.methods.oracle import PPOMethod as Method
def pendulum():
    return gym.make("Pendulum-v1")
"""


@pytest.mark.parametrize("kind", ["method", "env"])
def test_code_that_a_file_names_is_run_only_if_it_is_trusted(tmp_path: Path, monkeypatch, capsys, kind: str) -> None:
    module = f"spy_{kind}"
    (tmp_path / f"{module}.py").write_text(SPY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    given = {"method": "ppo", "env": "Pendulum-v1"} | {kind: f"{module}:{'Method' if kind == 'method' else 'pendulum'}"}
    text = f"[[cells]]\nmethod = '{given['method']}'\nenv = '{given['env']}'\nsteps = 512\n"
    write(tmp_path / "g.toml", text)
    for extra in ([], ["--dry-run"]):
        assert main(["grid", "g.toml", "--out", "out", *extra]) == 2
        complaint = capsys.readouterr().err
        assert f"g.toml, line {2 if kind == 'method' else 3}: " in complaint
        assert f"'{module}'" in complaint
        assert "--trust" in complaint
    assert main(["grid", "g.toml", "--out", "out", "--trust", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"{given['method'].replace(':', '_')}-{given['env'].replace(':', '.')}-none-s0: 512 steps" in said
    assert f"not imported, so not checked: {given[kind]}" in said
    assert sorted(os.listdir()) == ["g.toml", f"{module}.py"]
    assert len(plan.read(Path("g.toml"), trust=True)) == 1
    assert (tmp_path / f"{module}.ran").exists()


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    cells = plan.read(write(tmp_path / "g.toml", SMALL))
    with pytest.raises(UserError, match="other things than runs"):
        plan.open_folder(tmp_path, cells)
    plan.open_folder(tmp_path / "new", cells)
    plan.prepare(cells[0], tmp_path / "new")
    plan.open_folder(tmp_path / "new", cells)  # its own


def test_times_are_estimated_from_the_runs_that_are_there(tmp_path: Path) -> None:
    """From 1000 to 3000 steps in 8 seconds are 250 steps/s. So the first 1000 took 4 of their 10 seconds, and compiling
    6. A run with 3000 of 512 000 steps behind it has 509 000 before it."""
    cells = plan.read(write(tmp_path / "g.toml", SMALL.replace("steps = 512\n", "steps = 512000\n")))
    out = tmp_path / "out"
    for cell in cells:
        plan.prepare(cell, out)
    timing = out / cells[0].name / "timing.csv"
    timing.write_text("iteration,steps,seconds\n0,1000,10.0\n1,2000,13.0\n2,3000,18.0\n")
    paces = hours.Paces(out)
    assert paces.of(cells[1].config) == hours.Pace(hours.AROUND + 6.0, 250.0)
    assert paces.seconds_left(cells[1], out) == hours.AROUND + 6.0 + 512_000 / 250
    assert hours.steps_left(cells[0], out) == 509_000
    assert hours.steps_left(cells[1], out) == 512_000
    (out / cells[1].name / "result.json").write_text("{}")
    assert hours.steps_left(cells[1], out) == 0
    assert hours.Paces(out).seconds_left(cells[1], out) == 0


@pytest.mark.parametrize(
    "timing", ["", "iteration", "iteration,steps,seconds\n0,1,1\n", "a\n0,1,1\n1,inf,nan\n", "\0\xff"]
)
def test_a_broken_timing_estimates_nothing(tmp_path: Path, timing: str) -> None:
    cell = plan.read(write(tmp_path / "g.toml", SMALL))[0]
    plan.prepare(cell, tmp_path / "out")
    (tmp_path / "out" / cell.name / "timing.csv").write_text(timing)
    assert hours.Paces(tmp_path / "out").source == "by earlier measurements"
    assert 1 <= hours.steps_left(cell, tmp_path / "out") <= 512


def test_a_short_grid_takes_minutes_and_start_up_counts(tmp_path: Path, capsys) -> None:
    """A run of 512 steps is all start-up: 18 seconds each, whatever the robot."""
    path = write(tmp_path / "g.toml", SMALL.replace("[0, 1]", str(list(range(20)))))
    assert main(["grid", str(path), "--out", str(tmp_path / "out"), "--dry-run", "--jobs", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("512 steps, about 18 s")
    assert lines[-1] == "20 cells, about 6 min on one core, 3 min on 2; by earlier measurements"
    assert [hours.spoken(seconds) for seconds in (59.6, 600, 3600, 9000)] == ["60 s", "10 min", "60 min", "2.5 h"]


def test_what_a_cell_died_of_is_one_printable_line() -> None:
    """Whatever it holds: escapes of a terminal, half characters, brackets that a table would take for colours."""
    line = fleet.in_a_line("[/red] burnt\x1b[31m\nout \ud800" + "x" * 10_000)
    assert line.isprintable()
    assert line.startswith("[/red] burnt\\x1b[31m out \\ud800xxx")
    assert len(line) < 400
    console = Console(width=80, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Board([], Path())._table(Overview([], [], [], {"a": "[/red] burnt"}, "")))
    assert "[/red] burnt" in console.export_text()


def test_a_lock_is_held_once_and_destroys_nothing(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / ".lock", "precious")
    first = storage.locked(path)
    assert first is not None
    assert storage.locked(path) is None
    first.close()
    again = storage.locked(path)
    assert again is not None
    assert path.read_text() == "precious"
    monkeypatch.setattr(storage, "fcntl", None)  # a system without such locks
    other = storage.locked(path)
    assert other is not None
    other.close()
    again.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "can't join Ray at 127.0.0.1:1: nobody listens there"),
        ("nowhere.invalid:6379", "nobody listens there"),
        ("ray://127.0.0.1:1", "nobody listens there"),
        ("local", "--address must be HOST:PORT"),
        ("127.0.0.1", "--address must be HOST:PORT"),
        ("127.0.0.1:99999", "--address must be HOST:PORT"),
    ],
)
def test_a_cluster_that_is_not_there_is_said_at_once_and_nothing_is_written(tmp_path, capsys, address, said) -> None:
    path = write(tmp_path / "g.toml", SMALL)
    assert main(["grid", str(path), "--out", str(tmp_path / "out"), "--address", address]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_door_behind_which_no_ray_lives_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(cluster, "JOIN_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(UserError, match=f"can't join Ray at 127.0.0.1:{port}: no Ray answers there within 2 sec"):
            cluster.check(f"127.0.0.1:{port}")


def test_a_folder_with_other_settings_is_refused(tmp_path: Path) -> None:
    cells = plan.read(write(tmp_path / "g.toml", SMALL))
    plan.prepare(cells[0], tmp_path)
    changed = plan.read(write(tmp_path / "h.toml", SMALL.replace("512", "1024")))
    with pytest.raises(UserError, match="other settings"):
        plan.prepare(changed[0], tmp_path)


def test_a_dry_run_lists_the_cells_warns_once_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Both cells watch the same recording, whose actions reach their bounds."""
    (tmp_path / "g.toml").write_text(
        '[[cells]]\nmethod = "gail-sa"\nenv = "HalfCheetah-v5"\ndynamics = ["none", "low-gravity"]\nsteps = 2e6\n'
    )
    assert main(["grid", str(tmp_path / "g.toml"), "--out", str(tmp_path / "out"), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert [line.split(":")[0] for line in said.out.splitlines()[:2]] == [
        "gail-sa-HalfCheetah-v5-none-s0",
        "gail-sa-HalfCheetah-v5-low-gravity-s0",
    ]
    warned = said.err.splitlines()
    assert len(warned) == 1
    assert warned[0].startswith("onlooker: warning: 36% of the recorded action values lie at or beyond their bounds")
    assert not (tmp_path / "out").exists()
