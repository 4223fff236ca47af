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
from onlooker.methods.compose import Problem
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
    assert main(["train", "--resume", "run", "--trust"]) == 0
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


def test_all_that_is_public_is_in_one_place():
    """The page takes everything of ours from `onlooker.parts`, and that holds what its list names and no more."""
    from onlooker import parts

    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert code is not None
    assert set(re.findall(r"^from (onlooker\S*) import", code.group(1), re.M)) == {"onlooker.parts"}
    assert all(getattr(parts, name) is not None for name in parts.__all__)
    named = set(re.findall(r"`(?:onlooker\.parts\.)?([A-Z]\w+)`", PAGE.read_text()))
    assert named - {"Annotated"} <= set(parts.__all__)


def test_a_bound_stands_beside_its_field(coupling):
    from dataclasses import dataclass
    from typing import Annotated

    from onlooker.errors import UserError
    from onlooker.options.bounds import check_numbers
    from onlooker.parts import Bounds, Matching

    @dataclass(frozen=True)
    class Own(Matching):
        shift: float = 0.0
        tilt: Annotated[float, Bounds(-5, 5)] = 0.0

    check_numbers(Own(shift=-3.0, tilt=-5.0))
    for own in (Own(tilt=5.1), Own(shift=float("nan")), Own(tilt=float("-inf"))):
        with pytest.raises(UserError, match=r"--tilt must be from -5 to 5|--shift must be a finite number"):
            check_numbers(own)
