"""Every imitator sees what it declares and no more; what it declares, it does use."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from walking import STATES, learned, other_reward, same

from onlooker import api, config, evaluation
from onlooker.__main__ import main
from onlooker.demos import Demos, save, shipped
from onlooker.errors import UserError
from onlooker.methods import METHODS
from onlooker.methods.compose import Problem
from onlooker.methods.watching import draws
from onlooker.policies import policy_file

SMALL: dict[str, dict[str, Any]] = {
    "i2l": {"critic": {"steps": 2, "batch": 32}, "discriminator": {"exemplars": 64}},
    "gail-s": {},
    "gaifo": {},
    "gail-sa": {},
    "airl": {"discriminator": {"exemplars": 64}},
    "bco": {"inverse": {"steps": 2, "memory": 500}, "cloning": {"steps": 2}, "explore": 1},
    "bc": {"cloning": {"steps": 2}},
}
OPTIONS = {name: config.make(name, **settings).options for name, settings in SMALL.items()}
RNG = np.random.default_rng(5)
ACTIONS = RNG.uniform(-1, 1, (200, 3)).astype(np.float32)
DEMO = Demos(STATES, action=ACTIONS, next_obs=STATES + 0.1)

# What a method must not see, and what it is told.
SEES_ACTIONS = {"gail-sa", "airl", "bc"}
SEES_SUCCESSORS = {"gaifo", "bco"}


@cache
def base(name: str) -> Any:
    return learned(OPTIONS[name], DEMO)


def test_all_imitators_are_here():
    assert {*SMALL, "ppo", "transfer"} == set(METHODS)


@pytest.mark.parametrize("name", SMALL)
def test_the_environments_reward_never_influences_the_update(name):
    assert same(base(name), learned(OPTIONS[name], DEMO, other_reward))


@pytest.mark.parametrize("name", SMALL)
def test_only_what_is_declared_influences_the_update(name):
    changed = {
        "actions": Demos(STATES, action=-ACTIONS, next_obs=STATES + 0.1),
        "successors": Demos(STATES, action=ACTIONS, next_obs=STATES - 0.1),
        "states": Demos(STATES * 1.5, action=ACTIONS, next_obs=STATES + 0.1),
    }
    assert same(base(name), learned(OPTIONS[name], changed["actions"])) is (name not in SEES_ACTIONS)
    assert same(base(name), learned(OPTIONS[name], changed["successors"])) is (name not in SEES_SUCCESSORS)
    assert not same(base(name), learned(OPTIONS[name], changed["states"]))


@pytest.mark.parametrize("name", SMALL)
def test_a_run_watches_no_more_than_it_declares(name, tmp_path):
    """The copy in the run folder, which is all that a run reads, has no actions unless the method needs them."""
    settings: dict[str, Any] = {"env": "Hopper-v5", "steps": 256, "steps_per_iteration": 256, "max_episode_steps": 50}
    run = api.train(name, demo=DEMO, out=tmp_path / "run", **settings, **SMALL[name])
    with np.load(run.path / "demo.npz") as kept:
        assert ("action" in kept) is (name in SEES_ACTIONS)
    assert np.isfinite(run.result["eval_return_mean"])


@pytest.mark.parametrize("name", sorted(SEES_ACTIONS))
def test_a_demo_without_actions_is_refused_with_the_state_only_methods(name, tmp_path, capsys):
    save(tmp_path / "states.npz", Demos(STATES))
    code = main(
        ["train", name, "--env", "Hopper-v5", "--demo", str(tmp_path / "states.npz"), "--out", str(tmp_path / "r")]
    )
    said = capsys.readouterr().err
    assert code == 2
    assert all(word in said for word in (name, "i2l", "gail-s", "gaifo", "bco"))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", ["gail-sa", "airl", "bc"])
def test_actions_of_another_size_are_refused_before_anything_is_written(name, tmp_path):
    demo = Demos(STATES, action=np.zeros((200, 2)))
    with pytest.raises(UserError, match="2 numbers an action, the environment 3"):
        api.train(name, env="Hopper-v5", demo=demo, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", ["gaifo", "bco"])
def test_successive_states_can_not_be_thinned(name, tmp_path):
    with pytest.raises(UserError, match="--demo-stride must be 1"):
        api.train(name, env="Hopper-v5", demo=DEMO, demo_stride=2, out=tmp_path / "r")


def test_recorded_actions_become_draws():
    """Bounds -2 and 6: the middle is a draw of 0, a quarter from the top atanh(0.5); at and beyond the bound it is
    atanh(1 - 1e-6) = 7.254."""
    problem = Problem(1, 1, 1, 1, 1, np.array([-2.0]), np.array([6.0]))
    demo = Demos(np.zeros((4, 1)), action=np.array([[2.0], [4.0], [6.0], [50.0]]))
    np.testing.assert_allclose(draws(demo, problem, True)[:, 0], [0, np.arctanh(0.5), 7.2543, 7.2543], rtol=1e-3)
    assert draws(demo, problem, False) is demo.action


def test_clipped_actions_are_told_once(tmp_path):
    demo = Demos(STATES, action=np.where(ACTIONS > 0.5, 5.0, ACTIONS))
    settings: dict[str, Any] = {"env": "Hopper-v5", "steps": 256, "steps_per_iteration": 256, "max_episode_steps": 50}
    with pytest.warns(UserWarning, match="of the recorded action values lie at or beyond") as told:
        api.train("bc", demo=demo, out=tmp_path / "r", **settings)
    assert len([w for w in told if "beyond" in str(w.message)]) == 1


@pytest.mark.parametrize(
    ("name", "demo", "said"),
    [
        ("i2l", STATES[:, :5], "say with --match-dims which 5 entries"),
        ("gail-s", STATES[:, :5], "say with --match-dims which 5 entries"),
        ("bco", STATES[:, :5], "i2l, gail-s and gaifo can do with some entries"),  # it has no --match-dims
        ("i2l", "ant", "105 numbers a state, the environment 11; is it of another robot"),
        ("bco", "ant", "105 numbers a state, the environment 11; is it of another robot"),
    ],
)
def test_a_recording_that_does_not_fit_is_refused_before_anything_is_written(name, demo, said, tmp_path):
    with pytest.raises(UserError, match=said):
        api.train(name, env="Hopper-v5", demo=demo, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_episodes_and_stride_thin_what_is_watched(tmp_path):
    """Two episodes of 120 and 80 states: the first, every 7th state, is rows 0, 7, ... 119."""
    demo = Demos(STATES, lengths=np.array([120, 80]))
    settings: dict[str, Any] = {"env": "Hopper-v5", "steps": 256, "steps_per_iteration": 256, "max_episode_steps": 50}
    run = api.train("i2l", demo=demo, demo_episodes=1, demo_stride=7, out=tmp_path / "r", **settings, **SMALL["i2l"])
    with np.load(run.path / "demo.npz") as kept:
        assert np.array_equal(kept["obs"], STATES[0:120:7])


def test_transfer_is_the_expert_unchanged(tmp_path):
    """As `onlooker evaluate --expert` measures it."""
    settings: dict[str, Any] = {"env": "Hopper-v5", "dynamics": "low-gravity", "steps": 512, "steps_per_iteration": 256}
    run = api.train("transfer", expert="hopper", out=tmp_path / "r", **settings)
    expert = policy_file.load(shipped.expert_path("hopper"))
    judged = evaluation.summarize(evaluation.evaluate(run.policy.world, evaluation.by_policy(expert)))
    assert run.result["eval_return_mean"] == judged["return_mean"]
    assert same(run.policy.actor, expert.actor)
    with pytest.raises(UserError, match="knows 17 numbers a state and 6 an action, the environment has 11 and 3"):
        api.train("transfer", expert="halfcheetah", out=tmp_path / "s", **settings)


def test_an_unknown_method_names_the_nearest(tmp_path: Path, capsys):
    assert main(["train", "gail_s", "--out", str(tmp_path / "r")]) == 2
    assert "gail-s" in capsys.readouterr().err
    assert main(["train", "onlooker.api:train", "--out", str(tmp_path / "r")]) == 2
    assert "your-own.md" in capsys.readouterr().err
    assert main(["train", "no_such_module:Method"]) == 2
    assert "no_such_module" in capsys.readouterr().err
