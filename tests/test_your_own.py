"""The method of docs/methods/your-own.md: taken from the page, and run from the command line by its import path."""

import json
import re
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from onlooker import demos
from onlooker.__main__ import main
from onlooker.methods import Problem
from onlooker.types import Steps

PAGE = Path(__file__).parent.parent / "docs" / "methods" / "your-own.md"


@pytest.fixture
def coupling(tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert code is not None
    (tmp_path / "coupling.py").write_text(code.group(1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("coupling", None)


def test_runs_from_the_command_line_and_resumes_like_any_other(coupling, capsys):
    world = ["--env", "Hopper-v5", "--max-episode-steps", "100", "--steps", "512", "--steps-per-iteration", "256"]
    assert main(["train", "coupling:Coupling", *world, "--width", "0.5", "--out", "run"]) == 0
    config = json.loads((coupling / "run" / "config.json").read_text())
    assert config["method"] == "coupling:Coupling"
    assert config["options"]["width"] == 0.5
    assert np.isfinite(json.loads((coupling / "run" / "result.json").read_text())["return"])
    assert main(["train", "--resume", "run"]) == 0
    assert "is complete" in capsys.readouterr().out


def test_the_coupling_is_exact(coupling, monkeypatch):
    import coupling as page

    monkeypatch.setattr(page, "compose", lambda problem, exemplars, rewards, *rest, **named: rewards)
    expert = np.array([[0.0], [1.0], [2.0], [3.0]], np.float32)
    rewards = page.Coupling(width=0.5).build(Problem(1, 1, 2, 10, 1), demos.Demos(expert))
    # One environment visits the expert's states in another order; the other is 0.25 above each of them.
    obs = np.stack([expert[[2, 0, 3, 1]], expert + 0.25], axis=1)
    nothing = np.zeros((4, 2))
    steps = Steps(obs, obs, obs, nothing, nothing > 0, nothing > 0)
    scored = jax.jit(lambda steps: rewards.score((), None, steps))(steps)
    np.testing.assert_allclose(scored[:, 0], 1.0)
    np.testing.assert_allclose(scored[:, 1], np.exp(-0.25 / (expert.std() + 1e-3) / 0.5), rtol=1e-5)
