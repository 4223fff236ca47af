"""PPO: losses by hand, one compiled update, and small environments whose right answer is known."""

import math
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probes import Aim, Delayed, Endless, Follow, Probe
from scipy import stats as scipy_stats

from onlooker.collect import Collector
from onlooker.envs.make import EnvSource, make_pool
from onlooker.learning import networks, normalize, ppo, rewards
from onlooker.learning.descent import clipped_adam
from onlooker.learning.ppo import Acting, Batch, PPOOptions, Valuing
from onlooker.learning.updating import Updater
from onlooker.methods.compose import Problem, State
from onlooker.methods.oracle import PPOMethod
from onlooker.policies.acting import HostPolicy
from onlooker.policies.actor import PolicyOptions
from onlooker.types import Array, Method, Rows, Steps

KEY = jax.random.key(0)
POLICY = PolicyOptions(hidden=(16,))

# --------------------------------------------------------------------------------------------------- losses by hand

LINEAR = [{"w": jnp.ones((1, 1)), "b": jnp.zeros(1)}]  # one input, handed on as it is


def batch_with(ratio: list[float], advantage: list[float]) -> Batch:
    """Draws at 0.3 from a unit Gaussian around 0, with such old densities that these ratios come out."""
    density = scipy_stats.norm.logpdf(0.3)
    rows, ones = len(ratio), np.ones(len(ratio), np.float32)
    old = density - np.log(np.array(ratio, np.float32))
    return Batch(np.zeros((rows, 1), np.float32), 0.3 * ones[:, None], old, np.array(advantage, np.float32), ones, ones)


def loss_of_policy(batch: Batch, **options: Any) -> tuple[float, dict[str, Any]]:
    params = {"net": LINEAR, "log_std": jnp.zeros(1)}
    loss, metrics = ppo.policy_loss(params, batch, POLICY, PPOOptions(**options))
    return float(loss), metrics


def test_clipped_surrogate_by_hand() -> None:
    ratio, advantage = [1.5, 1.5, 0.5, 0.5, 1.1], [1.0, -1.0, 1.0, -1.0, 2.0]
    # min(1.5, 1.2) = 1.2; min(-1.5, -1.2) = -1.5; min(.5, .8) = .5; min(-.5, -.8) = -.8; 1.1*2 = 2.2 -> 1.6 / 5
    loss, metrics = loss_of_policy(batch_with(ratio, advantage), clip=0.2, normalize_advantages=False)
    assert loss == pytest.approx(-0.32, rel=1e-5)
    assert float(metrics["policy_loss"]) == pytest.approx(-0.32, rel=1e-5)
    assert float(metrics["clip_fraction"]) == pytest.approx(4 / 5)
    # ratio - 1 - log ratio: twice .5 - log 1.5 = .0945349, twice -.5 - log .5 = .1931472, .1 - log 1.1 = .0046898
    assert float(metrics["kl"]) == pytest.approx((2 * 0.0945349 + 2 * 0.1931472 + 0.0046898) / 5, rel=1e-4)


def test_outside_the_clip_there_is_no_gradient() -> None:
    def slope(ratio: float, advantage: float) -> float:
        params = {"net": LINEAR, "log_std": jnp.zeros(1)}
        options = PPOOptions(clip=0.2, normalize_advantages=False)
        grads, _ = jax.grad(ppo.policy_loss, has_aux=True)(params, batch_with([ratio], [advantage]), POLICY, options)
        return float(grads["net"][0]["b"][0])

    assert slope(1.3, 1.0) == 0
    assert slope(0.7, -1.0) == 0
    # d(-ratio * advantage)/d mean = -ratio * advantage * (draw - mean) / variance, with draw - mean = 0.3
    assert slope(1.3, -1.0) == pytest.approx(1.3 * 0.3, rel=1e-5)
    assert slope(0.9, 1.0) == pytest.approx(-0.9 * 0.3, rel=1e-5)


def test_normalised_advantages_by_hand() -> None:
    # 5 and 9 have mean 7 and deviation 2, so they count as -1 and 1: -1 * 1.1 + 1 * 0.9 = -0.2, over 2
    loss, _ = loss_of_policy(batch_with([1.1, 0.9], [5.0, 9.0]), normalize_advantages=True)
    assert loss == pytest.approx(0.1, rel=1e-5)
    loss, _ = loss_of_policy(batch_with([1.1, 0.9], [5.0, 9.0]), normalize_advantages=False)
    assert loss == pytest.approx(-(5.5 + 8.1) / 2, rel=1e-5)


def test_entropy_bonus_by_hand() -> None:
    # The entropy of a unit Gaussian is log(2 pi e) / 2 = 1.4189385.
    loss, _ = loss_of_policy(batch_with([1.0], [1.0]), normalize_advantages=False, entropy_bonus=0.01)
    assert loss == pytest.approx(-1 - 0.014189385, rel=1e-6)


def loss_of_value(new: float, old: float, target: float, **options: Any) -> float:
    one = np.ones(1, np.float32)
    batch = Batch(new * one[:, None], one[:, None], one, one, old * one, target * one)
    return float(ppo.value_loss(LINEAR, batch, PPOOptions(**options))[0])


def test_value_loss_by_hand() -> None:
    # coefficient 1/2, times 1/2, times (3 - 4)^2
    assert loss_of_value(3, 2, 4) == pytest.approx(0.25, rel=1e-6)
    assert loss_of_value(3, 2, 4, value_coefficient=2.0) == pytest.approx(1, rel=1e-6)


def test_value_clip_by_hand() -> None:
    clip = {"value_clip": 0.2, "value_coefficient": 2.0}  # 2 * 1/2 leaves the error itself
    # from 2 it may move by 0.4: to 2.4, and (2.4 - 4)^2 = 2.56 is larger than (3 - 4)^2
    assert loss_of_value(3, 2, 4, **clip) == pytest.approx(2.56, rel=1e-5)
    # (3 - 2.2)^2 = 0.64 is larger than (2.4 - 2.2)^2
    assert loss_of_value(3, 2, 2.2, **clip) == pytest.approx(0.64, rel=1e-5)
    # the reach goes by the size of the old value, not its sign: from -2 down to -2.4, (-2.4 + 4)^2
    assert loss_of_value(-3, -2, -4, **clip) == pytest.approx(2.56, rel=1e-5)
    # within reach nothing is clipped
    assert loss_of_value(2.1, 2, 4, **clip) == pytest.approx(1.9**2, rel=1e-5)


def test_gradients_are_clipped_by_their_norm() -> None:
    adam = clipped_adam(max_grad_norm=0.5, eps=0.1)
    grads = {"a": jnp.array([3.0]), "b": jnp.array([4.0])}
    # The norm is 5, so a tenth of each is left: 0.3 and 0.4. Adam's first step is g / (|g| + eps): 0.3/0.4 and 0.4/0.5
    direction, _ = adam.update(grads, adam.init(grads))
    assert float(direction["a"][0]) == pytest.approx(0.75, rel=1e-5)
    assert float(direction["b"][0]) == pytest.approx(0.8, rel=1e-5)


# ------------------------------------------------------------------------------------------------------- one update


def rollout(rows: int = 8, envs: int = 2, **replaced: Array) -> Steps:
    rng = np.random.default_rng(0)
    steps = Steps(
        obs=rng.standard_normal((rows, envs, 3)).astype(np.float32),
        action=rng.standard_normal((rows, envs, 2)).astype(np.float32),
        next_obs=rng.standard_normal((rows, envs, 3)).astype(np.float32),
        env_reward=rng.standard_normal((rows, envs)).astype(np.float32),
        terminated=np.zeros((rows, envs), bool),
        truncated=np.zeros((rows, envs), bool),
    )
    return steps._replace(**replaced)


class Learner(NamedTuple):
    """What one update changes."""

    actor: networks.Actor
    value: Any


def improved(steps: Steps, progress: float = 0.0, **options: Any) -> tuple[Learner, Learner, dict[str, Any]]:
    """(before, after, metrics) of one update with one gradient step, unless told otherwise."""
    chosen = PPOOptions(**({"epochs": 1, "minibatches": 1, "normalize_advantages": False} | options))
    acting, valuing = ppo.init(KEY, 3, 2, POLICY, chosen)
    before = Learner(acting.actor, valuing.layers)
    acting, valuing, metrics = compiled_improve(chosen)(
        acting, valuing, steps, steps.env_reward, np.float32(progress), KEY
    )
    return before, Learner(acting.actor, valuing.layers), metrics


@cache
def compiled_improve(options: PPOOptions) -> Any:
    improve_policy = partial(ppo.improve_policy, policy=POLICY, options=options)
    improve_value = partial(ppo.improve_value, policy=POLICY, options=options)

    def improve(acting: Acting, valuing: Valuing, *seen: Any) -> tuple[Acting, Valuing, dict[str, Any]]:
        better, about = improve_policy(acting, valuing, *seen)
        wiser, about_value = improve_value(acting, valuing, *seen)
        return better, wiser, about | about_value

    return jax.jit(improve)


def flat(tree: Any) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def moved(before: Any, after: Any) -> np.ndarray:
    return flat(after) - flat(before)


def test_policy_and_value_have_gradients_of_their_own() -> None:
    _, plain, _ = improved(rollout())
    _, heavy, _ = improved(rollout(), value_coefficient=1e6)
    assert np.array_equal(flat(plain.actor), flat(heavy.actor))
    assert not np.array_equal(flat(plain.value), flat(heavy.value))


def test_the_first_gradient_step_finds_the_policy_as_it_was() -> None:
    _, _, metrics = improved(rollout())
    assert float(metrics["kl"]) == pytest.approx(0, abs=1e-10)
    assert float(metrics["clip_fraction"]) == 0


def test_annealing_ends_at_zero() -> None:
    start, whole, _ = improved(rollout(), progress=0.0, anneal=True)
    _, half, _ = improved(rollout(), progress=0.5, anneal=True)
    _, nothing, _ = improved(rollout(), progress=1.0, anneal=True)
    _, constant, _ = improved(rollout(), progress=0.5, anneal=False)
    assert np.abs(moved(start.actor, whole.actor)).max() == pytest.approx(3e-4, rel=0.01)  # Adam's first step
    np.testing.assert_allclose(moved(start.actor, half.actor), moved(start.actor, whole.actor) / 2, atol=1e-7)
    assert np.array_equal(flat(nothing.actor), flat(start.actor))
    assert np.array_equal(flat(nothing.value), flat(start.value))
    assert np.array_equal(flat(constant.actor), flat(whole.actor))


def test_scheduled_noise_falls_in_a_straight_line_whatever_is_learned() -> None:
    for progress, expected in ((0.0, 0.0), (0.5, -1.25), (1.0, -2.5)):  # it starts at POLICY's 0
        start, after, metrics = improved(rollout(), progress=progress, log_std_end=-2.5)
        np.testing.assert_allclose(after.actor.log_std, expected, atol=1e-6)
        # two actions, each log(2 pi e) / 2 + log_std
        assert float(metrics["entropy"]) == pytest.approx(2 * (1.4189385 + expected), abs=1e-5)
        assert np.abs(moved(start.actor.net, after.actor.net)).max() > 1e-5
    for progress, expected in ((0.1, -0.5), (0.5, -2.5), (0.7, -2.5)):
        _, after, _ = improved(rollout(), progress=progress, log_std_end=-2.5, log_std_within=0.5)
        np.testing.assert_allclose(after.actor.log_std, expected, atol=1e-6)
    _, learned, _ = improved(rollout(), progress=0.5)
    assert np.abs(np.asarray(learned.actor.log_std)).max() == pytest.approx(3e-4, rel=0.01)  # Adam's first step


def test_an_ignored_time_limit_teaches_nothing() -> None:
    cut = rollout(truncated=np.ones((8, 2), bool))
    start, ignored, _ = improved(cut, time_limit="ignore")
    assert np.array_equal(flat(ignored.actor), flat(start.actor))
    assert np.array_equal(flat(ignored.value), flat(start.value))
    _, counted, _ = improved(cut, time_limit="bootstrap")
    assert np.abs(moved(start.actor, counted.actor)).max() > 1e-4
    # What terminated in the same step is learned from in both.
    both = cut._replace(terminated=np.ones((8, 2), bool))
    _, ended, _ = improved(both, time_limit="ignore")
    assert np.abs(moved(start.actor, ended.actor)).max() > 1e-4


def test_each_row_is_seen_once_in_each_epoch() -> None:
    """With a learning rate of next to nothing, the mean over minibatches is the loss over the whole rollout."""
    options = {"epochs": 3, "minibatches": 4, "learning_rate": 1e-12}
    _, _, metrics = improved(rollout(), **options)
    _, _, at_once = improved(rollout())
    assert float(metrics["policy_loss"]) == pytest.approx(float(at_once["policy_loss"]), rel=1e-4)
    assert float(metrics["value_loss"]) == pytest.approx(float(at_once["value_loss"]), rel=1e-4)
    assert float(at_once["value_loss"]) > 0


def test_rewards_are_divided_by_the_deviation_of_the_discounted_return() -> None:
    model = rewards.env_reward(1, 0.5, scale=True)
    steps = rollout(4, 1, env_reward=np.array([[1.0], [2.0], [4.0], [8.0]], np.float32))
    steps = steps._replace(truncated=np.array([[False], [True], [False], [False]]))
    actor = networks.init_actor(KEY, 3, 2, POLICY)
    state, _ = model.fit(model.init(KEY), actor, steps, lambda key, n: Rows(None), KEY)
    # 1; 2 + .5*1 = 2.5, an end; 4; 8 + .5*4 = 10. Mean 4.375, variance (3.375^2 + 1.875^2 + .375^2 + 5.625^2) / 4
    assert float(state.stats.var[0]) == pytest.approx(11.671875, rel=1e-5)
    assert state.running.tolist() == [10]
    np.testing.assert_allclose(
        model.score(state, actor, steps)[:, 0], np.array([1, 2, 4, 8]) / 11.671875**0.5, rtol=1e-5
    )


# ---------------------------------------------------------------------------------------- probes with known answers

ENVS, LENGTH, HORIZON, DISCOUNT = 8, 32, 5, 0.5


@cache
def compiled() -> tuple[Method, Any, PPOMethod]:
    """One compiled update for all probes: they have the same sizes."""
    options = PPOMethod(
        policy=PolicyOptions(hidden=(16, 16), log_std_init=-0.7),
        ppo=PPOOptions(
            learning_rate=5e-3, anneal=True, anneal_steps=1, epochs=4, minibatches=4, discount=DISCOUNT, gae_lambda=0.9
        ),
        scale_reward=False,
    )
    method = options.build(Problem(1, 1, ENVS, HORIZON, 60))
    return method, Updater(method), options


def solve(probe: EnvSource, iterations: int = 60, **settings: Any) -> State:
    method, update, options = compiled()
    pool = make_pool(probe, ENVS, 0, settings, max_episode_steps=HORIZON)
    pool.reset()
    collector, state = Collector(pool, LENGTH, 0), method.init(KEY)
    for iteration in range(iterations):
        policy = HostPolicy(method.actor(state), options.policy, pool.action_low, pool.action_high)
        steps = collector.collect(policy, iteration)
        state, _ = update(state, steps, np.int32(iteration), jax.random.fold_in(KEY, iteration))
    return state


def value_at(state: State, *seen: float) -> list[float]:
    obs = jnp.array(seen, jnp.float32)[:, None]
    return networks.value(state.valuing.layers, normalize.apply(state.acting.actor.stats, obs)).tolist()


def action_at(state: State, *seen: float) -> list[float]:
    obs = jnp.array(seen, jnp.float32)[:, None]
    actor = state.acting.actor
    return jnp.tanh(networks.mlp(actor.net, normalize.apply(actor.stats, obs)))[:, 0].tolist()


def test_one_step_of_reward_1_is_worth_1() -> None:
    assert value_at(solve(Probe), 0) == pytest.approx([1], abs=0.02)


def test_the_best_action_is_found() -> None:
    assert action_at(solve(Aim), 0) == pytest.approx([0.5], abs=0.05)


def test_a_reward_one_step_later_is_discounted_once() -> None:
    assert value_at(solve(Delayed), 0, 1) == pytest.approx([DISCOUNT, 1], abs=0.03)


def test_the_best_action_depends_on_what_is_seen() -> None:
    assert action_at(solve(Follow), -0.8, 0, 0.8) == pytest.approx([-0.4, 0, 0.4], abs=0.08)


def test_a_time_limit_is_not_an_end() -> None:
    # Reward 1 for ever is worth 1 / (1 - 0.5) = 2, although episodes are cut after five steps.
    assert value_at(solve(Endless), 0) == pytest.approx([2], abs=0.02)


def test_a_termination_is_an_end() -> None:
    # Backwards from the last of five steps: 1, 1 + .5*1 = 1.5, 1.75, 1.875, 1.9375
    assert value_at(solve(Probe, length=5), 0, 1, 2, 3, 4) == pytest.approx([1.9375, 1.875, 1.75, 1.5, 1], abs=0.06)


def test_the_update_traces_once() -> None:
    solve(Probe, iterations=3)
    solve(Follow, iterations=3)
    assert [[part._cache_size() for part in stage] for stage in compiled()[1].stages] == [[1], [1, 1]]


def test_statistics_count_from_the_next_rollout_on() -> None:
    method, update, options = compiled()
    pool = make_pool(Follow, ENVS, 0, max_episode_steps=HORIZON)
    pool.reset()
    collector, state = Collector(pool, LENGTH, 0), method.init(KEY)
    policy = HostPolicy(method.actor(state), options.policy, pool.action_low, pool.action_high)
    steps = collector.collect(policy, 0)
    after, metrics = update(state, steps, np.int32(0), KEY)
    seen = steps.steps.obs.reshape(-1, 1)
    assert method.actor(after).stats.seen == ENVS * LENGTH
    np.testing.assert_allclose(method.actor(after).stats.mean, seen.mean(0), atol=1e-5)
    np.testing.assert_allclose(method.actor(after).stats.var, seen.var(0), rtol=1e-4)
    assert math.isfinite(metrics["kl"])


def test_a_short_run_anneals_like_the_beginning_of_a_long_one() -> None:
    _, _, options = compiled()
    pool = make_pool(Follow, ENVS, 0, max_episode_steps=HORIZON)
    pool.reset()

    def last_update(iterations: int, anneal_steps: float) -> np.ndarray:
        """What the third update makes of a fresh policy."""
        chosen = replace(options, ppo=replace(options.ppo, anneal_steps=anneal_steps))
        method = chosen.build(Problem(1, 1, ENVS, HORIZON, iterations))
        state, _ = Updater(method)(method.init(KEY), seen, np.int32(2), KEY)
        return flat(method.actor(state).net)

    method = compiled()[0]
    policy = HostPolicy(method.actor(method.init(KEY)), options.policy, pool.action_low, pool.action_high)
    seen = Collector(pool, LENGTH, 0).collect(policy, 0)
    whole = last_update(iterations=6, anneal_steps=1)
    assert np.array_equal(last_update(iterations=3, anneal_steps=6 * ENVS * LENGTH), whole)
    assert np.array_equal(last_update(iterations=3, anneal_steps=6 * ENVS * LENGTH - 1), whole)  # whole iterations
    assert not np.array_equal(last_update(iterations=3, anneal_steps=1), whole)
    assert np.array_equal(last_update(iterations=6, anneal_steps=3 * ENVS * LENGTH), whole)  # a longer run takes longer
