"""Data never runs code: an import path counts only where the user typed it."""

import json
import sys
from pathlib import Path

import pytest

from onlooker import importing, storage
from onlooker.__main__ import main
from onlooker.errors import UserError

SMALL = ["--num-envs", "2", "--steps-per-iteration", "64", "--policy.hidden", "8", "--ppo.minibatches", "2"]
OWN = """
import pathlib
import gymnasium as gym

pathlib.Path("imported").write_text("yes")

def make():
    return gym.make("Pendulum-v1")
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in an environment of the user's own, then a new process, so to speak: nothing is allowed any more."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_env.py").write_text(OWN)
    sys.modules.pop("own_env", None)  # another test's
    steps = ["--steps", "128", "--max-episode-steps", "20", "--out", "run"]
    assert main(["train", "ppo", "--env", "own_env:make", *SMALL, *steps]) == 0
    (tmp_path / "imported").unlink()
    sys.modules.pop("own_env")
    monkeypatch.setattr(importing, "_typed", set())
    return tmp_path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["evaluate", "run"], ["evaluate", "run/policy.npz"], ["train", "--resume", "run", "--steps", "256"]]
)
def test_what_a_file_names_is_imported_only_with_trust(
    own: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(words) == 2
    line = said(capsys)
    assert "own_env" in line
    assert "--trust" in line
    assert line.count("\n") == 1
    assert not (own / "imported").exists()
    assert main([*words, "--trust"]) == 0
    assert (own / "imported").exists()


def test_a_stranger_s_policy_runs_no_command(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays, meta = storage.load_arrays(own / "run" / "policy.npz")
    meta["world"] |= {"env": "os:system", "env_kwargs": {"command": "touch escaped"}}
    storage.save_arrays(own / "e.npz", arrays, meta)
    for words in (["evaluate", "e.npz"], ["evaluate", "e.npz", "--trust"]):
        assert main(words) == 2
    assert "'os:system' is a part of Python itself" in said(capsys)
    assert not (own / "escaped").exists()


def test_a_method_that_a_run_folder_names_needs_trust_too(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((own / "run" / "config.json").read_text())
    (own / "run" / "config.json").write_text(json.dumps(config | {"method": "own_env:make"}))
    assert main(["train", "--resume", "run", "--steps", "256"]) == 2
    assert "the method 'own_env:make' is code of the module 'own_env'" in said(capsys)
    assert not (own / "imported").exists()


def test_only_classes_and_functions_from_outside_of_python_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"os:system": "part of Python", "subprocess:call": "part of Python", "numpy:pi": "no class or function"}
    bad |= {"numpy:nothing": "can't import", "nowhere_at_all:x": "can't import"}
    for path, reason in bad.items():
        with pytest.raises(UserError, match="a file names it, not you"):
            importing.from_path(path, "environment")
        importing.allow(path)
        with pytest.raises(UserError, match=reason):
            importing.from_path(path, "environment")


def test_import_paths_are_told_from_ids_and_files() -> None:
    for path in ("my.module:make_env", "my_module:Id-v0", "my_module:ns/Id-v0"):
        assert importing.is_import_path(path)
    for other in ("Hopper-v5", "ALE/Pong-v5", "robot.xml", "C:robot.xml", "a b:c", ""):
        assert not importing.is_import_path(other)
