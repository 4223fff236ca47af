"""Weights & Biases, offline: a run's metrics land in its log, and a resumed run is the same one."""

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
