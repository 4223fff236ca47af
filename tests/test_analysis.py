"""The lower bound's terms: distances that are known, and a run analysed from end to end."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest

from onlooker import analysis, api, evaluation
from onlooker.__main__ import main
from onlooker.runs.folder import RunFolder

RNG = np.random.default_rng(0)


def test_exact_distance_is_optimal_transports():
    one, other = RNG.standard_normal((200, 5)), RNG.standard_normal((200, 5)) * 2 + 1
    assert analysis.exact_w1(one, other) == pytest.approx(ot.emd2([], [], ot.dist(one, other, metric="euclidean")))


def test_a_shifted_cloud_is_as_far_as_the_shift():
    cloud = RNG.standard_normal((400, 3)).astype(np.float32)
    shifted = cloud + np.array([3.0, 4.0, 0.0], np.float32)
    assert analysis.exact_w1(cloud, shifted) == pytest.approx(5.0, rel=1e-5)
    assert analysis.critic_w1(cloud, shifted) == pytest.approx(5.0, rel=0.1)


def test_an_i2l_run_is_analysed_with_its_oracle(tmp_path, capsys):
    """The oracle is linked in, as the report would read it too, and a run that was never finished does not matter."""
    elsewhere, tmp_path = tmp_path / "elsewhere", tmp_path / "results"
    (tmp_path / "begun").mkdir(parents=True)
    (tmp_path / "begun" / "config.json").write_text("{")
    world: dict[str, Any] = {"env": "Hopper-v5", "dynamics": "low-gravity", "max_episode_steps": 50}
    small: dict[str, Any] = {"steps": 1024, "steps_per_iteration": 512, "num_envs": 4}
    api.train("ppo", out=elsewhere, **world, **small)
    (tmp_path / "oracle").symlink_to(elsewhere)
    run = api.train("i2l", out=tmp_path / "run", **world, **small, critic={"steps": 2}, discriminator={"exemplars": 64})
    assert main(["analyze", str(tmp_path)]) == 0
    told = json.loads((run.path / "analysis.json").read_text())
    bound = told["lower_bound"]
    assert told["oracle"] == "oracle"
    assert bound["iteration"] == [1, 2]
    assert bound["f_from"] == 2
    assert all(len(bound[name]) == 2 for name in ("expert_f", "buffer_f", "w1", "exact_w1"))
    assert np.isfinite([bound[name] for name in ("expert_f", "buffer_f", "w1", "exact_w1")]).all()
    assert min(bound["exact_w1"]) > 0
    assert main(["analyze", str(tmp_path), "--f-from", "1"]) == 0
    assert json.loads((run.path / "analysis.json").read_text())["lower_bound"]["f_from"] == 1
    assert main(["analyze", str(tmp_path), "--f-from", "99"]) == 2
    assert "it has 1, 2" in capsys.readouterr().err
    _break_beside(run.path)
    assert main(["analyze", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{run.path}/analysis.json\n"
    passed_over = [line for line in said.err.splitlines() if line.startswith("onlooker: warning: passed over: ")]
    assert sorted(name for line in passed_over for name in BROKEN if f"{tmp_path / name} " in line) == BROKEN
    assert len(said.err.splitlines()) == len(BROKEN)


BROKEN = ["config-cut", "snapshot-cut", "snapshots-gone", "stranger"]


def _break_beside(run: Path) -> None:
    """Copies of a run, each broken in its own way."""
    for name in BROKEN:
        shutil.copytree(run, run.parent / name)
    (run.parent / "config-cut" / "config.json").write_text("{")
    (run.parent / "stranger" / "config.json").write_text('{"format": 1, "version": "9.9"}')
    snapshots = sorted((run.parent / "snapshot-cut" / "snapshots").iterdir())
    snapshots[-1].write_bytes(snapshots[-1].read_bytes()[:-100])
    shutil.rmtree(run.parent / "snapshots-gone" / "snapshots")


@pytest.mark.parametrize("squash", [True, False])
def test_the_oracles_actions_are_seen_as_the_imitator_sees_its_own(squash, tmp_path):
    """Hopper's bounds are -1 and 1, so the tanh of a draw is the very action that the oracle took."""
    run = api.train("ppo", out=tmp_path, env="Hopper-v5", steps=256, steps_per_iteration=256, num_envs=4)
    obs, drawn = analysis.oracle_pairs(RunFolder.open(run.path), squash)
    episode = evaluation.evaluate(run.policy.world, evaluation.by_policy(run.policy), 1)[0]
    np.testing.assert_array_equal(obs, episode.obs.astype(np.float32))
    np.testing.assert_allclose(np.tanh(drawn) if squash else drawn, episode.action, atol=1e-5)


def test_nothing_to_analyse_is_said(tmp_path, capsys):
    assert main(["analyze", str(tmp_path)]) == 2
    assert "no finished i2l run" in capsys.readouterr().err
