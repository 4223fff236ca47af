"""Grid files: what they expand into, and what is said of bad ones. Running them is tests/test_fleet.py."""

from pathlib import Path

import pytest

from onlooker.__main__ import main
from onlooker.errors import UserError
from onlooker.grid import hours, plan

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
        ("paper-table1", 3 * 16 * 8, 3 * 16 * 8 * 5e6),
        ("paper-figures", 5 * 16 * 8, 5 * 16 * 8 * 5e6),
        ("paper-gaifo", 2 * 16 * 8, 2 * 16 * 8 * 5e6),
        ("paper-bco", 16 * 8, 16 * 8 * 5e6),
        ("paper-actions", 2 * 16 * 8, 2 * 16 * 8 * 5e6),
        ("paper-figure1", 4 + 2 * 8, 4 * 1e5 + 16 * 5e6),
        ("ablation-capacity", 6 * 8, 6 * 8 * 5e6),
        ("lower-bound", 4, 4 * 5e6),
        ("wasserstein", 16 * 8, 16 * 8 * 5e6),
        ("mismatch-sweep", 2 * 2 * 2 * 7 + 2 * 7, 56 * 5e6 + 14 * 1e5),
        ("smoke", 8, 8 * 8192),
        ("screen-i2l", 6 * 4, 6 * 4 * 1.5e6),
        ("finalists-i2l", 15, 15 * 5e6),
        ("finalists-i2l-2", 12, 12 * 5e6),
        ("finalists-i2l-3", 9, 4 * 5e6 + 5 * 1e6),
        ("screen-i2l-3", 3 * 8 + 6 + 4, 34 * 1.5e6),
        ("finalists-i2l-4", 4, 4 * 5e6),
        ("screen-i2l-4", 8 + 4 + 4 + 1, 17 * 1e6),
        ("finalists-i2l-5", 4, 4 * 5e6),
        ("i2l-eight", 16, 16 * 5e6),
        ("first-results", 10 * 16 + 4 * 2, (9 * 16 + 4 * 2) * 5e6 + 16 * 1e5),
        ("recordings", 7, 7 * 1.5e6),
        ("screen-gail-s", 8 * 4, 8 * 4 * 1.5e6),
        ("screen-airl", 11, 7 * 1e6 + 4 * 5e6),
        ("finalists-gail-s", 2 * 4 + 2, (2 * 4 + 2) * 5e6),
        ("baselines", 4 + 3 + 2 + 3 + 2, 14 * 5e6),
        ("absorbing", 6 * 2, 12 * 5e5),
    ],
)
def test_shipped_grids_hold_the_cells_that_they_name(name: str, cells: int, steps: float) -> None:
    read = plan.read(GRIDS / f"{name}.toml")
    assert len(read) == cells
    assert sum(cell.config.budget.steps for cell in read) == steps


def test_the_experts_grid_is_readable() -> None:
    cells = plan.read(GRIDS / "experts.toml")
    assert [cell.config.world.env for cell in cells] == ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5"]


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


def test_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    cells = plan.read(write(tmp_path / "g.toml", SMALL))
    with pytest.raises(UserError, match="other things than runs"):
        plan.open_folder(tmp_path, cells)
    plan.open_folder(tmp_path / "new", cells)
    plan.prepare(cells[0], tmp_path / "new")
    plan.open_folder(tmp_path / "new", cells)  # its own


def test_hours_are_estimated_from_the_runs_that_are_there(tmp_path: Path) -> None:
    """1000 steps in 4 seconds are 250 steps/s; a run with 1000 of 512 000 steps behind it has 511 000 before it."""
    cells = plan.read(write(tmp_path / "g.toml", SMALL.replace("steps = 512\n", "steps = 512000\n")))
    out = tmp_path / "out"
    for cell in cells:
        plan.prepare(cell, out)
    (out / cells[0].name / "timing.csv").write_text("iteration,steps,seconds\n3,1000,4.0\n")
    assert hours.Rates(out).of(cells[1].config) == 250
    assert hours.steps_left(cells[0], out) == 511_000
    assert hours.steps_left(cells[1], out) == 512_000
    (out / cells[1].name / "result.json").write_text("{}")
    assert hours.steps_left(cells[1], out) == 0


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
