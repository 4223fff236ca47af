"""A pool gives the numbers that Gymnasium gives, resets by itself, and goes on exactly after save and load."""

import itertools
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import probes
import pytest
from probes import Breaks, DictObservations, DiscreteActions, Probe, Stroll, not_an_env

from onlooker import importing
from onlooker.envs.crew import Crew
from onlooker.envs.dynamics import apply
from onlooker.envs.gym_pool import GymPool
from onlooker.envs.make import EnvSource, make_env, make_pool
from onlooker.envs.pool import MujocoPool, Pool
from onlooker.envs.world import PRESETS, Dynamics
from onlooker.errors import UserError

ROBOTS = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5"]
OTHERS = {  # Gymnasium's other robots, and the presets that have an effect on them
    "Humanoid-v5": list(PRESETS),
    "HumanoidStandup-v5": list(PRESETS),
    "Swimmer-v5": ["none", "high-density"],
    "InvertedPendulum-v5": ["none", "low-gravity", "high-density", "high-damping"],
    "InvertedDoublePendulum-v5": ["none", "low-gravity", "high-density", "high-damping"],
    "Reacher-v5": ["none", "high-density", "high-damping"],
    "Pusher-v5": ["none", "high-density", "high-damping"],
}


def random_actions(pool: Pool, steps: int, size: float = 1.0) -> np.ndarray:
    """float32, as a policy gives them."""
    noise = np.random.default_rng(0).uniform(-size, size, (steps, pool.num_envs, pool.action_size))
    return noise.astype(np.float32)


def assert_equals_gymnasium(pool: Pool, twins: list[gym.Env], actions: np.ndarray) -> np.ndarray:
    """Step a fresh pool and single Gymnasium environments side by side; [T, N, 2] what terminated and was cut."""
    ours: list[tuple[np.ndarray, ...]] = []
    theirs: list[list[tuple]] = []
    pool.reset()
    starts = [twin.reset(seed=pool.episode_seed(i))[0].ravel() for i, twin in enumerate(twins)]
    np.testing.assert_allclose(pool.obs, starts, rtol=0, atol=1e-12)
    for action in actions:
        ours.append((*pool.step(action), pool.obs))
        theirs.append([])
        for i, twin in enumerate(twins):
            obs, reward, terminated, truncated, _ = twin.step(action[i].reshape(twin.action_space.shape or ()))
            after = twin.reset(seed=pool.episode_seed(i))[0] if terminated or truncated else obs
            theirs[-1].append((obs.ravel(), reward, terminated, truncated, after.ravel()))
    for position in range(5):  # next_obs, reward, terminated, truncated, obs after any reset
        expected = [[step[position] for step in steps] for steps in theirs]
        np.testing.assert_allclose(np.array([step[position] for step in ours], float), expected, rtol=0, atol=1e-12)
    pool.close()
    return np.array([[step[2:4] for step in steps] for steps in theirs], bool)


def robot_and_twins(robot: str, dynamics: Dynamics, num_envs: int, **settings: Any) -> tuple[MujocoPool, list[gym.Env]]:
    """A pool of a robot, and Gymnasium's own environments with the same edit of their models."""
    limit = settings.pop("max_episode_steps", None)
    pool = make_pool(robot, num_envs, 3, settings, dynamics, limit, threads=2)
    assert isinstance(pool, MujocoPool)
    given = settings if limit is None else settings | {"max_episode_steps": limit}
    twins = [gym.make(robot, disable_env_checker=True, **given) for _ in range(num_envs)]
    for twin in twins:
        apply(dynamics, twin.unwrapped.model)  # type: ignore[attr-defined]
    return pool, twins


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_thousand_steps_equal_gymnasium(robot: str, preset: str) -> None:
    pool, twins = robot_and_twins(robot, PRESETS[preset], 2)
    ends = assert_equals_gymnasium(pool, twins, random_actions(pool, 1000))
    if robot == "HalfCheetah-v5":
        assert ends.sum(axis=(0, 1)).tolist() == [0, 2]  # it can't fall: both were cut after 1000 steps
    elif robot != "Ant-v5":
        assert ends[:, :, 0].sum() > 10  # falls, with a reset after each


@pytest.mark.parametrize(("robot", "preset"), [(robot, preset) for robot in OTHERS for preset in OTHERS[robot]])
def test_the_other_robots_equal_gymnasium(robot: str, preset: str) -> None:
    pool, twins = robot_and_twins(robot, PRESETS[preset], 2)
    ends = assert_equals_gymnasium(pool, twins, random_actions(pool, 110))
    falls = robot in ("Humanoid-v5", "InvertedPendulum-v5", "InvertedDoublePendulum-v5")
    assert ends[:, :, 0].any() == falls
    assert ends[:, :, 1].any() == (pool.max_episode_steps <= 110)  # Reacher's 50, Pusher's 100


@pytest.mark.parametrize("robot", OTHERS)
def test_presets_without_an_effect_are_refused(robot: str) -> None:
    for preset in set(PRESETS) - set(OTHERS[robot]):
        with pytest.raises(UserError, match=r"do(es)? nothing"):
            make_pool(robot, 1, 0, dynamics=PRESETS[preset])


@pytest.mark.parametrize("robot", ROBOTS[1:])
def test_an_episode_of_a_thousand_steps_is_cut_and_not_ended(robot: str) -> None:
    pool, twins = robot_and_twins(robot, PRESETS["low-gravity"], 1, terminate_when_unhealthy=False)
    ends = assert_equals_gymnasium(pool, twins, random_actions(pool, 1001))
    assert np.argwhere(ends).tolist() == [[999, 0, 1]]


@pytest.mark.parametrize(
    ("robot", "settings"),
    [
        ("Ant-v5", {"include_cfrc_ext_in_observation": False}),
        ("Ant-v5", {"exclude_current_positions_from_observation": False, "contact_force_range": (-0.3, 0.2)}),
        ("Ant-v5", {"frame_skip": 2, "contact_cost_weight": 0.1, "ctrl_cost_weight": 0.2, "forward_reward_weight": 2}),
        ("Ant-v5", {"healthy_z_range": (0.4, 0.8), "healthy_reward": 3.0, "reset_noise_scale": 0.3}),
        ("Ant-v5", {"main_body": 2, "max_episode_steps": 60}),
        ("HalfCheetah-v5", {"frame_skip": 3, "ctrl_cost_weight": 0.7, "forward_reward_weight": 2.0}),
        ("HalfCheetah-v5", {"exclude_current_positions_from_observation": False, "reset_noise_scale": 0.0}),
        ("Hopper-v5", {"healthy_reward": 3.0, "terminate_when_unhealthy": False, "max_episode_steps": 37}),
        ("Hopper-v5", {"healthy_z_range": (0.9, 1.4), "healthy_angle_range": (-0.1, 0.3), "frame_skip": 2}),
        ("Hopper-v5", {"healthy_state_range": (-2.0, 2.0), "exclude_current_positions_from_observation": False}),
        ("Walker2d-v5", {"healthy_reward": 0.5, "healthy_angle_range": (-0.5, 0.5), "max_episode_steps": 20}),
        ("Walker2d-v5", {"exclude_current_positions_from_observation": False, "frame_skip": 1}),
        ("Humanoid-v5", {"include_cinert_in_observation": False, "include_cvel_in_observation": False}),
        ("Humanoid-v5", {"contact_cost_weight": 1e-3, "contact_cost_range": (0.1, 0.5), "healthy_z_range": (1.2, 1.5)}),
        ("Humanoid-v5", {"include_cfrc_ext_in_observation": False, "include_qfrc_actuator_in_observation": False}),
        ("Humanoid-v5", {"exclude_current_positions_from_observation": False, "terminate_when_unhealthy": False}),
        ("HumanoidStandup-v5", {"impact_cost_weight": 1e-3, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.1}),
        ("HumanoidStandup-v5", {"include_cinert_in_observation": False, "frame_skip": 2, "max_episode_steps": 40}),
        ("InvertedPendulum-v5", {"reset_noise_scale": 0.1, "frame_skip": 1}),
        ("InvertedDoublePendulum-v5", {"healthy_reward": 3.0, "reset_noise_scale": 0.3}),
    ],
)
def test_keywords_of_gym_make_work(robot: str, settings: dict[str, Any]) -> None:
    dynamics = Dynamics(gravity=0.8, damping=2.0, wind=(2.0, 1.0, 0.0))
    pool, twins = robot_and_twins(robot, dynamics, 2, **settings)
    ends = assert_equals_gymnasium(pool, twins, random_actions(pool, 250, size=1.3))  # 1.3: beyond the bounds, too
    if "max_episode_steps" in settings:
        assert ends[:, :, 1].any()


def test_ant_has_105_numbers_or_27() -> None:
    assert make_pool("Ant-v5", 1, 0).obs_size == 105
    assert make_pool("Ant-v5", 1, 0, {"include_cfrc_ext_in_observation": False}).obs_size == 27
    assert [make_pool(robot, 1, 0).obs_size for robot in ROBOTS[:3]] == [17, 11, 17]


def test_a_robot_of_the_users_own_xml(tmp_path: Path) -> None:
    shipped = Path(gym.make("Hopper-v5").unwrapped.fullpath).read_text()  # type: ignore[attr-defined]
    xml = tmp_path / "my_hopper.xml"
    xml.write_text(shipped.replace('gear="200.0"', 'gear="123.0"'))
    assert xml.read_text() != shipped
    pool, twins = robot_and_twins("Hopper-v5", PRESETS["high-friction"], 2, xml_file=str(xml))
    assert pool.model.actuator_gear[0, 0] == 123
    assert_equals_gymnasium(pool, twins, random_actions(pool, 200))


@pytest.mark.parametrize("limit", [1, 150, 1200])
def test_a_time_limit_of_the_users_own(limit: int) -> None:
    pool, twins = robot_and_twins("HalfCheetah-v5", Dynamics(), 1, max_episode_steps=limit)
    assert pool.max_episode_steps == limit
    ends = assert_equals_gymnasium(pool, twins, random_actions(pool, 1250))
    assert np.flatnonzero(ends[:, 0, 1]).tolist() == list(range(limit - 1, 1250, limit))


@pytest.mark.parametrize("name", ["HalfCheetah-v5", "Pendulum-v1"])
@pytest.mark.parametrize("limit", [150, 1200])
def test_make_env_has_the_same_time_limit(name: str, limit: int) -> None:
    env = make_env(name, max_episode_steps=limit)
    env.reset(seed=0)
    cut = [env.step(np.zeros(env.action_space.shape or ()))[3] for _ in range(limit)]
    assert cut == [False] * (limit - 1) + [True]


def test_the_true_last_observation_is_kept() -> None:
    pool = make_pool("Hopper-v5", 3, 0)
    pool.reset()
    ended = 0
    for action in random_actions(pool, 100):
        next_obs, _, terminated, _ = pool.step(action)
        for i in np.flatnonzero(terminated):
            ended += 1
            # It fell: too low, or too tilted. The fresh start stands, within the noise of a reset.
            assert next_obs[i, 0] <= 0.7 or abs(next_obs[i, 1]) >= 0.2
            assert abs(pool.obs[i, 0] - 1.25) <= 0.005
            assert pool.elapsed[i] == 0
        going_on = np.flatnonzero(~terminated)
        assert np.array_equal(pool.obs[going_on], next_obs[going_on])
    assert ended >= 3
    pool.close()


def test_terminated_and_cut_in_the_same_step_is_both() -> None:
    pool = make_pool(lambda: Probe(length=4), 1, 0, max_episode_steps=4)
    pool.reset()
    ends = [pool.step(np.zeros((1, 1)))[2:] for _ in range(4)]
    assert [(bool(end[0][0]), bool(end[1][0])) for end in ends] == [(False, False)] * 3 + [(True, True)]


@pytest.mark.parametrize("robot", ["Hopper-v5", "Ant-v5"])
def test_the_number_of_threads_changes_nothing(robot: str) -> None:
    runs = []
    for threads in (1, 2, 3):
        pool = make_pool(robot, 5, 11, threads=threads)
        pool.reset()
        runs.append([np.concatenate([*map(np.ravel, pool.step(a))]) for a in random_actions(pool, 120)])
        pool.close()
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_mujocos_stopwatch_rests_and_no_bit_changes() -> None:
    def stepped() -> mujoco.MjData:
        data = mujoco.MjData(model)
        data.qvel[:] = 0.1
        mujoco.mj_step(model, data, 200)
        return data

    model = make_env("Hopper-v5").unwrapped.model  # type: ignore[attr-defined]
    mujoco.set_mjcb_time(None)  # the usual one
    timed = stepped()
    make_pool("Hopper-v5", 1, 0)
    rested = stepped()
    assert timed.timer[0].duration > rested.timer[0].duration == 0
    assert np.array_equal(timed.qpos, rested.qpos)
    assert np.array_equal(timed.qvel, rested.qvel)


def test_a_stopwatch_of_the_users_own_goes_on() -> None:
    own = itertools.count().__next__
    mujoco.set_mjcb_time(own)
    try:
        make_pool("Hopper-v5", 1, 0).reset()
        assert mujoco.get_mjcb_time() is own
        assert own() > 0
    finally:
        mujoco.set_mjcb_time(None)


def test_environments_episodes_and_seeds_start_differently() -> None:
    starts = []
    for seed in (0, 1):
        pool = make_pool("HalfCheetah-v5", 3, seed)
        for _ in range(2):
            pool.reset()
            starts.extend(pool.obs.tolist())
    assert len({tuple(start) for start in starts}) == 12
    again = make_pool("HalfCheetah-v5", 3, 1)
    again.reset()
    assert again.obs.tolist() == starts[6:9]


def assert_goes_on_exactly(source: EnvSource, before: int, after: int, **settings: Any) -> None:
    """Save after some steps; the pool itself, the pool set back, and a new one all go on in the same way."""
    pool = make_pool(source, 3, 5, **settings)
    pool.reset()
    actions = random_actions(pool, before + after)
    for action in actions[:before]:
        pool.step(action)
    saved, obs = pool.save(), pool.obs.copy()
    new = make_pool(source, 3, 5, **settings)
    new.reset()
    new.step(actions[0])  # the new one has a past of its own
    runs: list[list[np.ndarray]] = []
    for going_on in (pool, pool, new):
        if runs:
            going_on.load(saved)
        assert np.array_equal(going_on.obs, obs)
        runs.append(
            [np.concatenate([*map(np.ravel, going_on.step(a)), going_on.obs.ravel()]) for a in actions[before:]]
        )
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])
    pool.close()
    new.close()


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("before", [0, 1, 93])
def test_a_robot_goes_on_exactly_after_save_and_load(robot: str, before: int) -> None:
    assert_goes_on_exactly(robot, before, 100, dynamics=PRESETS["low-gravity"], threads=2)


@pytest.mark.parametrize("robot", OTHERS)
def test_the_other_robots_go_on_exactly_after_save_and_load(robot: str) -> None:
    assert_goes_on_exactly(robot, 33, 40, dynamics=PRESETS["high-density"], threads=2)


@pytest.mark.parametrize("before", [0, 1, 29])
def test_any_environment_goes_on_exactly_after_save_and_load(before: int) -> None:
    assert_goes_on_exactly(Stroll, before, 60, max_episode_steps=25)
    assert_goes_on_exactly("Pendulum-v1", before, 40, max_episode_steps=25)


def test_any_other_environment_equals_gymnasium() -> None:
    pool = make_pool("Pendulum-v1", 2, 3)
    assert isinstance(pool, GymPool)
    ends = assert_equals_gymnasium(pool, [gym.make("Pendulum-v1") for _ in range(2)], random_actions(pool, 450, 2.0))
    assert np.flatnonzero(ends[:, 0, 1]).tolist() == [199, 399]


def test_a_factory_with_shaped_and_noisy_observations_equals_gymnasium() -> None:
    pool = make_pool(Stroll, 3, 3, max_episode_steps=9)
    assert (pool.obs_size, pool.action_size) == (6, 3)
    ends = assert_equals_gymnasium(
        pool, [gym.wrappers.TimeLimit(Stroll(), 9) for _ in range(3)], random_actions(pool, 200)
    )
    assert ends[:, :, 0].any()
    assert ends[:, :, 1].any()


@pytest.mark.parametrize(
    ("robot", "settings"),
    [
        ("Swimmer-v5", {"exclude_current_positions_from_observation": False, "ctrl_cost_weight": 0.1}),
        ("Reacher-v5", {"reward_dist_weight": 0.3, "reward_control_weight": 0.7, "frame_skip": 3}),
        ("Pusher-v5", {"reward_near_weight": 0.2, "reward_dist_weight": 0.3, "reward_control_weight": 0.7}),
    ],
)
def test_keywords_work_where_gravity_does_not(robot: str, settings: dict[str, Any]) -> None:
    pool, twins = robot_and_twins(robot, Dynamics(armature=2.0, gear=0.5), 2, **settings)
    assert_equals_gymnasium(pool, twins, random_actions(pool, 120, size=1.3))


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_old_versions_have_dynamics_too() -> None:
    dynamics = Dynamics(gravity=0.5, density=2.0)
    pool = make_pool("InvertedPendulum-v4", 2, 3, dynamics=dynamics)
    assert isinstance(pool, GymPool)
    twins = [gym.make("InvertedPendulum-v4") for _ in range(2)]
    for twin in twins:
        apply(dynamics, twin.unwrapped.model)  # type: ignore[attr-defined]
    assert_equals_gymnasium(pool, twins, random_actions(pool, 100, 3.0))


def test_a_robot_in_a_wrapper_of_the_users_own_runs_on_gymnasium() -> None:
    """Only an environment made by its id is known to be Gymnasium's own."""

    def wrapped() -> gym.Env:
        return gym.wrappers.TransformReward(gym.make("Hopper-v5"), lambda reward: -float(reward))

    pool = make_pool(wrapped, 1, 3)
    assert isinstance(pool, GymPool)
    assert_equals_gymnasium(pool, [wrapped()], random_actions(pool, 30))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("CartPole-v1", "CartPole-v1 has a Discrete action space; only Box"),
        ("FrozenLake-v1", "FrozenLake-v1 has a Discrete observation space; only Box"),
        (DiscreteActions, "DiscreteActions has a Discrete action space"),
        (DictObservations, "DictObservations has a Dict observation space"),
        (Stroll, "Stroll has no time limit; give one with --max-episode-steps"),
        ("probes:Stroll", "probes:Stroll has no time limit"),
        ("Hoper-v5", "unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'"),
        ("hopper-v5", "unknown environment 'hopper-v5'; did you mean 'Hopper-v5'"),
        ("Hopper-v99", "unknown environment 'Hopper-v99'; did you mean 'Hopper-v5'"),
        ("probes:Strol", "can't import the environment factory 'probes:Strol'"),
        ("no_such_module:make", "can't import 'no_such_module' for the environment factory 'no_such_module:make'"),
        (not_an_env, "not_an_env made a str, not a gymnasium.Env"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(source: EnvSource, reason: str) -> None:
    if isinstance(source, str):
        importing.allow(source)
    with pytest.raises(UserError) as failure:
        make_pool(source, 1, 0)
    assert str(failure.value).startswith(reason)
    assert "\n" not in str(failure.value)


@pytest.mark.filterwarnings("error")
def test_a_robot_of_a_gymnasium_long_past_is_refused() -> None:
    with pytest.raises(UserError, match="can't make Hopper-v3"):
        make_pool("Hopper-v3", 1, 0)


def test_a_bad_keyword_is_refused() -> None:
    with pytest.raises(UserError, match=r"can't make Hopper-v5: .*frame_skp"):
        make_pool("Hopper-v5", 1, 0, {"frame_skp": 4})


def test_dynamics_need_a_mujoco_model() -> None:
    with pytest.raises(UserError, match="Pendulum-v1 has no MuJoCo model, so its gravity, wind can't be changed"):
        make_pool("Pendulum-v1", 1, 0, dynamics=Dynamics(gravity=0.5, wind=(1, 0, 0)))


def test_an_environment_that_raises_is_named_in_one_line() -> None:
    pool = make_pool(Breaks, 2, 0, {"at": 8, "how": "raise"}, max_episode_steps=100)
    pool.reset()
    for _ in range(7):
        pool.step(np.zeros((2, 1)))
    with pytest.raises(UserError) as failure:
        pool.step(np.zeros((2, 1)))
    assert str(failure.value).startswith("the environment failed: RuntimeError: the motor burnt out (")
    where = (
        Path(probes.__file__).read_text().splitlines().index('            raise RuntimeError("the motor\\nburnt out")')
    )
    assert str(failure.value).endswith(f"probes.py:{where + 1})")  # the user's line, not Gymnasium's nor ours


def test_a_failure_in_a_thread_reaches_the_caller() -> None:
    done: list[int] = []

    def work(job: int) -> None:
        if job == 3:
            raise ZeroDivisionError("job 3")
        done.append(job)

    crew = Crew(work, threads=2)
    with pytest.raises(ZeroDivisionError, match="job 3"):
        crew.run([0, 1, 2, 3])
    done.clear()
    crew.run([4, 5, 6])  # and the crew still works
    assert sorted(done) == [4, 5, 6]
    crew.close()
