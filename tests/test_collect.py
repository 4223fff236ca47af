"""Acting on the host equals acting in JAX; rollouts and whole episodes equal a log kept by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probes import Breaks, Probe, Stroll

from onlooker.collect import WINDOW, Collector, Ended
from onlooker.envs.make import make_pool
from onlooker.envs.pool import Pool
from onlooker.errors import UserError
from onlooker.learning import networks, normalize
from onlooker.policies.acting import HostPolicy
from onlooker.policies.actor import Actor, PolicyOptions, Stats

KEY = jax.random.key(0)


def actor(obs_size: int, action_size: int, options: PolicyOptions) -> Actor:
    """A policy with observation statistics of some past and deviations beyond the clamp."""
    fresh = networks.init_actor(KEY, obs_size, action_size, options)
    rng = np.random.default_rng(0)
    stats = Stats(
        jnp.asarray(rng.standard_normal(obs_size), jnp.float32),
        jnp.asarray(rng.uniform(0.1, 4, obs_size), jnp.float32),
        jnp.array(100.0),
    )
    return fresh._replace(log_std=jnp.linspace(-12.0, 3.0, action_size), stats=stats)


# ------------------------------------------------------------------------------------------------------ host policy


def test_host_policy_equals_jax() -> None:
    options = PolicyOptions(hidden=(64, 64), log_std_min=-10, log_std_max=2)
    ours = actor(17, 6, options)
    low, high = np.linspace(-3, -1, 6, dtype=np.float32), np.linspace(1, 5, 6, dtype=np.float32)
    host = HostPolicy(ours, options, low, high)
    rng = np.random.default_rng(1)
    obs = 8 * rng.standard_normal((50, 17)).astype(np.float32)  # far enough that some are clipped to +-10
    noise = rng.standard_normal((50, 6)).astype(np.float32)
    mean = networks.mlp(ours.net, normalize.apply(ours.stats, obs))
    draw = mean + jnp.exp(networks.clamp(ours.log_std, options)) * noise
    assert (jnp.abs(normalize.apply(ours.stats, obs)) == 10).any()
    np.testing.assert_allclose(host.draw(obs, None), mean, atol=1e-5)
    np.testing.assert_allclose(host.draw(obs, noise), draw, atol=1e-5)
    # tanh in (-1, 1) is spread over (low, high)
    expected = low + (np.tanh(np.asarray(draw)) + 1) / 2 * (high - low)
    np.testing.assert_allclose(host.action(host.draw(obs, noise)), expected, atol=1e-5)


def test_without_squashing_actions_are_clipped() -> None:
    options = PolicyOptions(squash=False)
    low, high = np.array([-1.0, -2.0], np.float32), np.array([1.0, 0.5], np.float32)
    host = HostPolicy(actor(3, 2, options), options, low, high)
    assert host.action(np.array([[0.3, 0.3], [5.0, -7.0], [-5.0, 7.0]])).tolist() == [[0.3, 0.3], [1, -2], [-1, 0.5]]


@pytest.mark.filterwarnings("error")
def test_without_squashing_bounds_may_be_endless() -> None:
    endless, options = np.full(1, np.inf, np.float32), PolicyOptions(squash=False)
    assert HostPolicy(actor(3, 1, options), options, -endless, endless).action(np.array([[99.0]])).tolist() == [[99]]


# --------------------------------------------------------------------------------------------- rollouts and episodes

POLICY = PolicyOptions(hidden=(8,))


class Log:
    """Writes down everything that goes through a pool, environment by environment, and cuts it into episodes."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self._step = pool, pool.step
        self.unfinished: list[list[tuple]] = [[] for _ in range(pool.num_envs)]
        self.rows: list[tuple] = []
        self.finished: list[list[tuple[int, list[tuple]]]] = [[]]  # by rollout: (environment, its steps)
        pool.step = self.step  # type: ignore[method-assign]

    def step(self, action: np.ndarray) -> Any:
        before = self.pool.obs.copy()
        transition = self._step(action)
        self.rows.append((before, action.copy(), *(part.copy() for part in transition)))
        for i in range(self.pool.num_envs):
            self.unfinished[i].append((before[i], action[i].copy(), transition.reward[i], transition.terminated[i]))
            if transition.terminated[i] or transition.truncated[i]:
                self.finished[-1].append((i, self.unfinished[i]))
                self.unfinished[i] = []
        return transition


def stroll_pool(seed: int = 0) -> Pool:
    pool = make_pool(Stroll, 3, seed, max_episode_steps=12)
    pool.reset()
    return pool


def host(pool: Pool) -> HostPolicy:
    fresh = networks.init_actor(KEY, pool.obs_size, pool.action_size, POLICY)
    return HostPolicy(fresh, POLICY, pool.action_low, pool.action_high)


@pytest.mark.parametrize("length", [1, 5, 40])
def test_rollouts_and_episodes_equal_a_log_kept_by_hand(length: int) -> None:
    pool = stroll_pool()
    log, collector = Log(pool), Collector(pool, length, 0)
    all_returns: list[float] = []
    all_lengths: list[int] = []
    for iteration in range(60 // length):
        log.rows, log.finished = [], [[]]
        rollout = collector.collect(host(pool), iteration)
        steps, episodes = rollout
        # The rollout is what happened.
        for name, position in (("obs", 0), ("next_obs", 2), ("env_reward", 3), ("terminated", 4), ("truncated", 5)):
            happened = np.array([row[position] for row in log.rows])
            assert np.array_equal(getattr(steps, name), happened.astype(getattr(steps, name).dtype)), name
        # Stroll's bounds are -1 and 3: a draw u acts as 1 + 2 tanh u.
        np.testing.assert_allclose(1 + 2 * np.tanh(steps.action), [row[1] for row in log.rows], atol=1e-6)
        # Whole episodes, environment by environment, also those that began in an earlier rollout.
        expected = [steps for _, steps in sorted(log.finished[0], key=lambda pair: pair[0])]
        count = len(expected)
        assert episodes.length.tolist() == [len(steps) for steps in expected] + [0] * (3 * length - count)
        assert episodes.fell.tolist() == [bool(steps[-1][3]) for steps in expected] + [False] * (3 * length - count)
        end = int(episodes.length.sum())
        assert episodes.owner.tolist() == np.repeat(np.arange(3 * length), episodes.length).tolist() + [3 * length] * (
            len(episodes.owner) - end
        )
        for number, happened_steps in enumerate(expected):
            rows = slice(episodes.start[number], episodes.start[number] + episodes.length[number])
            assert np.array_equal(episodes.obs[rows], np.array([row[0] for row in happened_steps], np.float32))
            np.testing.assert_allclose(
                1 + 2 * np.tanh(episodes.action[rows]), [row[1] for row in happened_steps], atol=1e-6
            )
            all_returns.append(sum(row[2] for row in happened_steps))
            all_lengths.append(len(happened_steps))
        assert not episodes.obs[end:].any()
        assert not episodes.action[end:].any()
        assert collector.steps == 3 * length * (iteration + 1)
    assert len(all_returns) > 10
    assert 12 in all_lengths  # cut by the time limit
    assert min(all_lengths) < 12  # ended by itself
    np.testing.assert_allclose([ended.ret for ended in collector.recent], all_returns, rtol=1e-12)
    assert [ended.length for ended in collector.recent] == all_lengths
    summary = collector.summary()
    assert summary["return"] == pytest.approx(np.mean(all_returns), rel=1e-12)
    assert summary["episode_length"] == pytest.approx(np.mean(all_lengths), rel=1e-12)
    assert summary["episodes"] == len(all_returns)


def test_shapes_never_change() -> None:
    pool = stroll_pool()
    collector = Collector(pool, 5, 0)
    shapes = [jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), collector.collect(host(pool), i)) for i in range(8)]
    assert all(each == shapes[0] for each in shapes)
    assert shapes[0].episodes.obs[0] == (3 * (12 - 1 + 5), 6)  # what was unfinished at most, and the rollout


def test_noise_comes_from_seed_and_iteration_alone() -> None:
    def draws(seed: int, iteration: int) -> np.ndarray:
        pool = stroll_pool(seed=0)
        return Collector(pool, 200, seed).collect(host(pool), iteration).steps.action

    assert np.array_equal(draws(1, 7), draws(1, 7))
    assert not np.array_equal(draws(1, 7), draws(2, 7))
    assert not np.array_equal(draws(1, 7), draws(1, 8))


def test_draws_have_the_policys_deviation() -> None:
    pool = stroll_pool()
    policy = host(pool)
    steps = Collector(pool, 2000, 0).collect(policy, 0).steps
    noise = steps.action - policy.draw(steps.obs.reshape(-1, 6), None).reshape(2000, 3, 3)  # log-std is 0
    assert noise.mean() == pytest.approx(0, abs=0.03)  # 18,000 draws: four deviations of their mean
    assert noise.std() == pytest.approx(1, abs=0.025)


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_collector_goes_on_exactly_after_save_and_load(before: int) -> None:
    pool = stroll_pool()
    collector = Collector(pool, 5, 0)
    for iteration in range(before):
        collector.collect(host(pool), iteration)
    saved = jax.tree.map(np.copy, collector.save())
    kept = collector.save()
    other_pool = stroll_pool()
    other = Collector(other_pool, 5, 0)
    other.collect(host(other_pool), 99)  # a past of its own
    other.load(saved)
    for iteration in range(before, before + 6):
        first, second = collector.collect(host(pool), iteration), other.collect(host(other_pool), iteration)
        assert jax.tree.all(jax.tree.map(np.array_equal, first, second))
        np.testing.assert_equal(collector.summary(), other.summary())
    assert collector.steps == other.steps
    assert jax.tree.all(jax.tree.map(np.array_equal, saved, kept))  # what was saved is no view of what lives


def test_return_is_over_the_last_hundred_thousand_steps() -> None:
    pool = stroll_pool()
    collector = Collector(pool, 5, 0)
    assert WINDOW == 100_000
    assert np.isnan(collector.summary()["return"])
    assert collector.summary()["episodes"] == 0
    collector.recent.extend(
        [Ended(2048, 1000.0, 7), Ended(50_000, 5.0, 10), Ended(50_001, 1.0, 20), Ended(9**9, 2.0, 40)]
    )
    collector.steps = 150_000  # from step 50,001 on
    assert collector.summary() == {"return": 1.5, "episode_length": 30.0, "episodes": 2}


@pytest.mark.parametrize("how", ["nan-obs", "nan-reward", "inf-reward"])
def test_nan_from_the_environment_is_noticed(how: str) -> None:
    pool = make_pool(Breaks, 2, 0, {"at": 7, "how": how}, max_episode_steps=9)
    pool.reset()
    collector = Collector(pool, 5, 0)
    collector.collect(host(pool), 0)
    with pytest.raises(UserError, match="environment returned NaN or infinite numbers in iteration 1"):
        collector.collect(host(pool), 1)


def test_nan_from_the_policy_is_noticed() -> None:
    pool = make_pool(Probe, 2, 0, max_episode_steps=9)
    pool.reset()
    fresh = networks.init_actor(KEY, 1, 1, POLICY)
    sick = HostPolicy(fresh._replace(log_std=jnp.array([np.nan])), POLICY, pool.action_low, pool.action_high)
    with pytest.raises(UserError, match="policy's actions are NaN or infinite in iteration 3"):
        Collector(pool, 5, 0).collect(sick, 3)
