"""What takes minutes: does it really learn? Run by `make test-learning`."""

from pathlib import Path

import pytest

import onlooker


@pytest.mark.learning
def test_ppo_learns_to_run(tmp_path: Path) -> None:
    """1,187 after 300,000 steps when this was written; a policy that learned nothing earns about -300."""
    run = onlooker.train("ppo", env="HalfCheetah-v5", steps=300_000, out=tmp_path / "run")
    assert run.result["return"] > 800


@pytest.mark.learning
def test_i2l_learns_to_run_in_half_the_gravity_from_states_alone(tmp_path: Path) -> None:
    """3,370 after 1M steps when this was written; the expert's own policy earns 352 there."""
    run = onlooker.train("i2l", env="HalfCheetah-v5", dynamics="low-gravity", steps=1_000_000, out=tmp_path / "run")
    assert run.result["return"] > 1500
