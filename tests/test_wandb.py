"""Weights & Biases, offline: a run's metrics land in its log, and a resumed run is the same one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from onlooker.__main__ import main


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")


def test_metrics_are_logged_offline(tmp_path: Path) -> None:
    world = ["--env", "Pendulum-v1", "--steps", "512", "--steps-per-iteration", "256", "--ppo.minibatches", "4"]
    assert main(["train", "ppo", *world, "--wandb", "--out", str(tmp_path / "run")]) == 0
    logs = list((tmp_path / "run").glob("wandb/offline-run-*/*.wandb"))
    assert len(logs) == 1
    written = logs[0].read_bytes()
    assert b"explained_variance" in written
    assert (tmp_path / "run" / "wandb-id.txt").read_text() in logs[0].name


def test_without_a_login_it_is_one_line(tmp_path: Path) -> None:
    words = ["train", "ppo", "--env", "Pendulum-v1", "--steps", "512", "--wandb", "--out", "run"]
    told = subprocess.run(
        [sys.executable, "-m", "onlooker", *words],
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path), "WANDB_MODE": "online", "WANDB_API_KEY": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    last = told.stderr.splitlines()[-1]
    assert last.startswith("onlooker: --wandb can't begin: ")
    assert "log in with `wandb login`, or set WANDB_MODE=offline" in last
