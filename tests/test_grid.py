"""Grids: a file expands into cells; running it twice does only what is missing."""

from pathlib import Path

import pytest

from onlooker import grid
from onlooker.errors import UserError
from onlooker.runs import RunFolder

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
    cells = grid.read(write(tmp_path / "g.toml", text))
    assert len(cells) == 2 * 2 * 2 + 1
    assert cells[0].name == "ppo-Hopper-v5-none-s0"
    assert cells[-1].name == "ppo-Hopper-v5-none-s0-long"
    assert (cells[0].config.budget.steps, cells[-1].config.budget.steps) == (1_000_000, 2_000_000)
    assert cells[-1].config.options.policy.hidden == (32, 32)


def test_the_experts_grid_is_readable() -> None:
    cells = grid.read(Path(__file__).parents[1] / "grids" / "experts.toml")
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
        grid.read(write(tmp_path / "bad.toml", text))
    assert "bad.toml" in str(failure.value)


def test_runs_what_is_missing_and_only_that(tmp_path: Path) -> None:
    cells, out = grid.read(write(tmp_path / "g.toml", SMALL)), tmp_path / "out"
    said: list[str] = []
    assert grid.run(cells[:1], out, 1, said.append) == []
    first = (out / cells[0].name / "metrics.csv").stat().st_mtime_ns
    assert grid.run(cells, out, 2, said.append) == []
    assert all(RunFolder.open(out / cell.name).finished for cell in cells)
    assert (out / cells[0].name / "metrics.csv").stat().st_mtime_ns == first
    assert "2 cells, 1 already finished" in said


def test_a_folder_with_other_settings_is_refused(tmp_path: Path) -> None:
    cells = grid.read(write(tmp_path / "g.toml", SMALL))
    grid.prepare(cells[0], tmp_path)
    changed = grid.read(write(tmp_path / "h.toml", SMALL.replace("512", "1024")))
    with pytest.raises(UserError, match="other settings"):
        grid.prepare(changed[0], tmp_path)
