"""I2L as a whole: it sees states only, waits for its first episode, traces once, and works with other actuators."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest
from walking import STATES, hopper, learned, same, walk

from onlooker import api, config
from onlooker.__main__ import main
from onlooker.collect import Collector
from onlooker.demos import Demos
from onlooker.envs.make import make_pool
from onlooker.errors import UserError
from onlooker.learning import networks
from onlooker.learning.updating import Updater
from onlooker.methods.compose import Problem
from onlooker.methods.i2l import wider
from onlooker.methods.watching import matching
from onlooker.policies.acting import HostPolicy
from onlooker.types import Rollout

OPTIONS = config.make("i2l", critic={"steps": 2, "batch": 32}, discriminator={"exemplars": 64}).options


def test_waits_for_the_first_episode_and_traces_once():
    """One environment of 300-step episodes and rollouts of 128 steps: the first ends in the third rollout."""
    pool = make_pool("HalfCheetah-v5", 1, 0, max_episode_steps=300)
    pool.reset()
    method = OPTIONS.build(Problem(17, 6, 1, 300, 4), Demos(np.ones((5, 17)) * np.arange(5)[:, None]))
    collector = Collector(pool, 128, 0)
    update = Updater(method)
    states = [method.init(jax.random.key(0))]
    for iteration in range(4):
        policy = HostPolicy(method.actor(states[-1]), OPTIONS.policy, pool.action_low, pool.action_high)
        rollout = collector.collect(policy, iteration)
        state, metrics = update(states[-1], rollout, np.int32(iteration), jax.random.key(iteration))
        states.append(state)
        waiting = iteration < 2
        assert same(states[-1].valuing, states[-2].valuing) == waiting
        assert same(states[-1].rewards, states[-2].rewards) == waiting
        assert np.isnan(metrics["disc_loss"]) == waiting
        assert not same(states[-1].acting.actor.stats, states[-2].acting.actor.stats)
        assert int(metrics["elite_entered"]) == (1 if iteration == 2 else 0)
    assert [[part._cache_size() for part in stage] for stage in update.stages] == [[1, 1]]


def test_states_spread_wider_than_the_experts_by_the_median_of_the_entries_that_it_moves() -> None:
    expert = np.array([[-1.0, 5, 0, 0], [1, 5, 2, 4]])  # deviations 1, 0, 1, 2
    states = np.array([[[-3.0, 0, 0, 0], [3, 9, 4, 4]]])  # 3, 4.5, 2, 2: 3, 2 and 1 times
    assert float(wider(states, expert)) == pytest.approx(2.0)
    assert float(wider(states, expert[:1])) == 1.0  # one state tells nothing


@pytest.mark.parametrize(("spread", "lower"), [(0.5, 0.0), (1.5, 2 * np.log(1.5)), (100.0, 1.5)])
def test_noise_is_calmed_by_the_first_rollout_where_it_throws_the_robot_about(spread: float, lower: float) -> None:
    """The learner's states spread so many times as wide as the expert's. Where they spread less, nothing changes; else
    the schedule starts lower by twice the log of that, up to a point."""
    options = config.make("i2l", critic={"steps": 2, "batch": 32}, ppo={"log_std_end": -2.5}, calm=True).options
    (pool, problem), (again, _) = hopper(), hopper()
    method = options.build(problem, Demos(STATES))
    policy = HostPolicy(method.actor(method.init(jax.random.key(0))), options.policy, pool.action_low, pool.action_high)
    first = Collector(pool, 256 // pool.num_envs, 0).collect(policy, 0).steps.obs
    method = options.build(problem, Demos(first.reshape(-1, 11) / spread))
    state = walk(again, options, method, 2)[0]
    progress = 1 / np.ceil(options.ppo.anneal_steps / 256) / options.ppo.log_std_within
    planned = options.policy.shared((options.policy.log_std_init - lower) * (1 - progress) - 2.5 * progress, 3)
    np.testing.assert_allclose(state.acting.actor.log_std, planned, rtol=1e-3)


def test_a_step_is_worth_f_and_a_share_of_the_g_of_where_it_leads():
    """The first update, with and without g in the reward, from one and the same rollout."""
    demo, reached, rewards = Demos(STATES), [], []

    def keep(rollout: Rollout) -> Rollout:
        reached.append(rollout.steps.next_obs)
        return rollout

    for weight in (0.0, 0.5):
        options = config.make("i2l", critic={"steps": 2, "batch": 32, "reward": weight}).options
        pool, problem = hopper()
        method = options.build(problem, demo)
        _, told, _ = walk(pool, options, method, 1, keep)
        rewards.append(float(told[0]["reward"]))
    np.testing.assert_array_equal(*reached)
    g = networks.value(method.init(jax.random.key(0)).exemplars.critic.net, reached[0])
    assert abs(float(g.mean())) > 1e-3
    assert rewards[1] - rewards[0] == pytest.approx(0.5 * float(g.mean()), rel=1e-3)


def test_match_dims_compares_only_these_entries():
    """Changing entries that are not matched changes nothing; a recording of just the matched ones is the same."""
    options = config.make("i2l", match_dims=[0, 1, 4], critic={"steps": 2, "batch": 32}).options
    other = STATES.copy()
    other[:, [2, 3, 5, 6, 7, 8, 9, 10]] = 99.0
    results = [learned(options, Demos(states)) for states in (STATES, other, STATES[:, [0, 1, 4]])]
    assert same(results[0], results[1])
    assert same(results[0], results[2])


@pytest.mark.parametrize(
    ("dims", "size", "said"),
    [(None, 5, "match-dims"), ((0, 11), 2, "0 to 10"), ((0, 0), 2, "different"), ((0, 1), 5, "2 .just these. or 11")],
)
def test_match_dims_refuses_what_does_not_fit(dims, size, said):
    with pytest.raises(UserError, match=said):
        matching(dims, size, 11)


def test_learns_from_a_recording_of_other_actuators(tmp_path, monkeypatch):
    """The example of docs/methods/i2l.md: the expert has three motors, the imitator two; only states are compared."""
    page = Path(__file__).parent.parent / "docs" / "methods" / "i2l.md"
    code = re.search(r"```python\n(.*?)```", page.read_text(), re.S)
    assert code is not None
    (tmp_path / "two_motors.py").write_text(code.group(1))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    small = ["--steps", "2048", "--steps-per-iteration", "512", "--max-episode-steps", "50", "--critic.steps", "2"]
    assert main(["train", "i2l", "--env", "two_motors:TwoMotors", "--demo", "hopper", *small, "--out", "run"]) == 0
    run = api.Run(tmp_path / "run", {})
    assert run.policy.actor.log_std.shape == (2,)
    assert np.isfinite(run.metrics["wasserstein"][-1])
    assert np.isfinite(run.metrics["policy_loss"][-1])


def test_presets_hold_the_numbers_of_paper_and_release():
    paper, release = (config.make("i2l", preset) for preset in ("paper", "release"))
    assert (paper.budget.num_envs, release.budget.num_envs) == (1, 1)
    assert paper.options.policy.hidden == (64, 64, 64)
    assert release.options.policy.hidden == (64, 64)
    for made in (paper.options, release.options):
        assert made.ppo.learning_rate == 1e-4
        assert (made.ppo.discount, made.ppo.gae_lambda, made.ppo.epochs, made.ppo.minibatches) == (0.99, 0.95, 5, 32)
        assert (made.critic.learning_rate, made.critic.steps, made.critic.clamp) == (5e-5, 20, 0.05)
        assert (made.discriminator.learning_rate, made.discriminator.steps) == (3e-4, 5)
        assert (made.elite.capacity, made.elite.weigh) == (5, 0)
        assert (made.policy.log_std_init, made.ppo.log_std_end) == (0.0, None)
        assert (made.critic.batch, made.critic.reward) == (500, 0)
    assert (paper.options.elite.order, release.options.elite.order) == ("mean", "sum-and-length")
    assert config.make("i2l", "release", env="Ant-v5").options.policy.log_std_init == -1.0
    assert config.make("i2l", "release", ppo={"learning_rate": 1e-3}).options.ppo.learning_rate == 1e-3
    with pytest.raises(UserError, match="did you mean 'paper'"):
        config.make("i2l", "papper")
