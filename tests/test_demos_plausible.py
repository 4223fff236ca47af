"""Whether a recording can be of a robot: hand-made ones whose fault is known, and the shipped ones, which have none."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from onlooker.__main__ import main
from onlooker.demos import Demos, load, save, shipped, simulated
from onlooker.demos.body import Body, Joint
from onlooker.demos.plausible import allowed, compare, partners
from onlooker.demos.turns import between, product, turned
from onlooker.envs.make import make_env, make_pool

ENVS = {"halfcheetah": "HalfCheetah-v5", "hopper": "Hopper-v5", "walker2d": "Walker2d-v5", "ant": "Ant-v5"}
LIFT = Joint("lift", "slide", 1, 1, -1.0, 1.0)
HIP, KNEE = Joint("hip", "hinge", 2, 2, -1.0, 1.0), Joint("knee", "hinge", 3, 3, 0.0, 2.0)
LEG = Body("Leg-v0", (Joint("way", "slide", 0, 0), LIFT, HIP, KNEE), dt=0.05, shown=tuple(range(1, 8)))
# way is hidden, so an observation is: lift, hip, knee, way_vel, lift_vel, hip_vel, knee_vel


def leg(dt: float = 0.05, steps: int = 400) -> np.ndarray:
    """Each joint swings at a rate of its own: positions are sines, velocities their exact derivatives."""
    t = dt * np.arange(steps)[:, None]
    rate, size, middle = np.array([3.0, 5.0, 7.0]), np.array([0.3, 0.8, 0.9]), np.array([0.1, 0.0, 1.0])
    places, speeds = middle + size * np.sin(rate * t), size * rate * np.cos(rate * t)
    return np.concatenate([places, np.ones_like(t), speeds], axis=1)


def faults(obs: np.ndarray, body: Body = LEG, **meta) -> list[str]:
    return compare(Demos(obs, meta=meta), body)


def test_a_true_recording_has_no_fault():
    assert faults(leg()) == []
    assert compare(Demos(leg()), LEG, seen=leg()) == []


def test_names_and_entries():
    assert LEG.entries == ("lift", "hip", "knee", "way_vel", "lift_vel", "hip_vel", "knee_vel")
    assert LEG.label(2) == "2 (knee)"
    turned_round = Body("Leg-v0", LEG.joints, 0.05, (6, -1, 2))
    assert turned_round.entries == ("hip_vel", "", "hip")
    assert [turned_round.label(entry) for entry in range(3)] == ["0 (hip_vel)", "1", "2 (hip)"]
    assert (turned_round.place_entry(2), turned_round.speed_entry(2), turned_round.place_entry(1)) == (2, 0, -1)
    free = Joint("root", "free", 0, 0)
    assert free.places == ("root_x", "root_y", "root_z", "root_qw", "root_qx", "root_qy", "root_qz")
    assert free.speeds == ("root_vx", "root_vy", "root_vz", "root_wx", "root_wy", "root_wz")


def test_ranges_are_limits_and_where_the_robot_was():
    seen = np.zeros((2, 7))
    seen[1, 1] = 3.0
    by_limits = {fits.entry: (fits.low, fits.high) for fits in allowed(LEG)}
    assert by_limits == {0: (-1.0, 1.0), 1: (-1.0, 1.0), 2: (0.0, 2.0)}
    both = {fits.entry: (fits.low, fits.high) for fits in allowed(LEG, seen)}
    assert both[1] == (-1.0, 3.0)
    assert both[6] == (0.0, 0.0)


def test_degrees_are_named_with_entry_and_numbers():
    obs = leg()
    obs[:, [1, 2]] *= 180 / np.pi
    (line,) = faults(obs)
    assert line.startswith(
        "entry 1 (hip) goes from -45.75 to 45.73, on Leg-v0 from -1 to 1; entry 2 (knee) goes from 5.8"
    )
    assert line.endswith("looks like degrees, a factor of 57.3; radians are wanted")
    obs = leg()
    obs[:, [5, 6]] *= 180 / np.pi
    (line,) = faults(obs)
    assert "entry 1 (hip) moves 0.0175 times as far" in line
    assert line.endswith("are velocities in degrees a second?")


def test_millimetres_are_named():
    obs = leg()
    obs[:, [0, 4]] *= 1000
    (line,) = faults(obs)
    assert line == (
        "entry 0 (lift) goes from -199.2 to 399.3, on Leg-v0 from -1 to 1: looks like millimetres, a factor of 1000; "
        "metres are wanted"
    )


@pytest.mark.parametrize(("rate", "said"), [(500, "500 Hz"), (100, "100 Hz"), (40, "40 Hz"), (12, "12 Hz")])
def test_another_rate_is_named(rate, said):
    (line,) = faults(leg(dt=1 / rate, steps=1000))
    assert line.endswith(f"looks like {said}, Leg-v0 steps at 20 Hz")


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ([6, 5, 4, 3, 2, 1, 0], "reversed (1.00 in that order)"),
        ([3, 4, 5, 6, 0, 1, 2], "velocities first (1.00 in that order)"),
        ([2, 1, 0, 3, 4, 5, 6], None),  # hip stays in its place, so the others are named by themselves
        ([1, 2, 0, 3, 4, 5, 6], "entry 0 (lift) moves as 5 (hip_vel) says; entry 1 (hip) moves as 6 (knee_vel)"),
        ([0, 6, 1, 3, 5, 2, 4], "the columns look to be in another order"),
    ],
)
def test_another_order_of_columns_is_named(order, said):
    text = " / ".join(faults(leg()[:, order]))
    assert (said or "positions reversed") in text


def test_two_columns_swapped_among_many_that_are_right():
    joints = tuple(Joint(f"j{i}", "hinge", i, i) for i in range(6))
    t = 0.05 * np.arange(400)[:, None]
    rate = np.arange(2, 8)
    obs = np.concatenate([np.sin(rate * t), rate * np.cos(rate * t)], axis=1)
    body = Body("Six-v0", joints, 0.05, tuple(range(12)))
    assert faults(obs, body) == []
    (line,) = faults(obs[:, [1, 0, *range(2, 12)]], body)
    assert line.startswith("entry 0 (j0) does not move as 6 (j0_vel) says; entry 1 (j1)")
    assert line.endswith("are these columns swapped with others?")


def test_partners_are_positions_and_their_velocities():
    obs = leg()
    assert partners(obs[:-1], obs[1:]) == [(0, 4), (1, 5), (2, 6)]


def test_some_entries_are_compared_by_what_they_are():
    obs = leg()[:, [2, 6, 1]]
    assert faults(obs, match_dims=[2, 6, 1]) == []
    assert "looks like degrees" in faults(obs * 57.3, match_dims=[2, 6, 1])[0]
    (line,) = faults(leg(dt=0.002)[:, [2, 6]], match_dims=[2, 6])
    assert "looks like 500 Hz" in line


def test_standing_still_and_short_recordings_are_no_fault():
    still = np.zeros((100, 7))
    still[:, 0] = 1e-7 * np.arange(100)
    assert faults(still) == []
    assert faults(leg()[:5]) == []


# -------------------------------------------------------------------------------------------------------------- turns


def spinning(rate: float, steps: int = 100, dt: float = 0.05) -> np.ndarray:
    """A quaternion that turns about its own z, from lying on its side."""
    angle = rate * dt * np.arange(steps) / 2
    turn = np.stack([np.cos(angle), 0 * angle, 0 * angle, np.sin(angle)], axis=1)
    return product(np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]), turn)


def test_turns_have_known_rates():
    quaternion = spinning(2.0)
    np.testing.assert_allclose(np.linalg.norm(quaternion, axis=1), 1)
    np.testing.assert_allclose(turned(quaternion[:-1], quaternion[1:]), [[0, 0, 0.1]] * 99, atol=1e-12)
    np.testing.assert_allclose(turned(quaternion[:-1], -quaternion[1:]), [[0, 0, 0.1]] * 99, atol=1e-12)
    halfway = between(quaternion[:-1], quaternion[1:], np.full((99, 1), 0.5))
    np.testing.assert_allclose(halfway[:3], spinning(2.0, steps=6, dt=0.025)[1::2], atol=1e-12)


def test_a_free_joint_that_spins():
    body = Body("Ball-v0", (Joint("root", "free", 0, 0),), 0.05, tuple(range(13)))
    still, rate = np.zeros((100, 3)), np.tile([0, 0, 2.0], (100, 1))
    obs = np.concatenate([still, spinning(2.0), still, rate], axis=1)
    assert faults(obs, body) == []
    assert "looks like 100 Hz" in faults(np.concatenate([still, spinning(2.0, dt=0.01), still, rate], 1), body)[0]
    obs[:, 3:7] *= 2
    assert faults(obs, body)[0] == "entries 3 to 6 are the quaternion of root, of length 2 to 2, not 1"


# ------------------------------------------------------------------------------------------------------ real robots


@cache
def robot(env: str) -> tuple[Body, np.ndarray]:
    return simulated.body_of(env), simulated.seen(env)


def test_bodies_are_read_off_the_models():
    cheetah, _ = robot("HalfCheetah-v5")
    assert cheetah.entries[:3] == ("rootz", "rooty", "bthigh")
    assert cheetah.entries[-1] == "ffoot_vel"
    assert cheetah.shown == tuple(range(1, 18))
    assert cheetah.dt == pytest.approx(0.05)
    assert cheetah.fastest == np.inf
    assert robot("Hopper-v5")[0].fastest == 10
    assert (cheetah.joints[3].low, cheetah.joints[3].high) == pytest.approx((-0.52, 1.05))
    ant, _ = robot("Ant-v5")
    assert ant.entries[:6] == ("root_z", "root_qw", "root_qx", "root_qy", "root_qz", "hip_1")
    assert ant.shown == (*range(2, 29), *[-1] * 78)
    assert simulated.body_of("Pendulum-v1").joints == ()


@pytest.mark.parametrize("name", [name for name in shipped.names() if shipped.robot_of(name.split("-")[0])])
def test_no_false_alarm_on_what_is_shipped(name):
    body, seen = robot(ENVS[name.split("-")[0]])
    assert compare(load(name), body, seen) == []
    assert compare(load(name), body) == []


@pytest.mark.parametrize("env", [*ENVS.values(), "Swimmer-v5", "InvertedPendulum-v5", "Pendulum-v1"])
@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_no_false_alarm_on_what_chance_does(env, strength):
    pool = make_pool(env, 2, 7, max_episode_steps=200)
    pool.reset()
    rng, obs, after = np.random.default_rng(5), [], []
    for _ in range(100):
        obs.append(pool.obs.copy())
        action = strength * rng.uniform(pool.action_low, pool.action_high, (2, pool.action_size))
        after.append(pool.step(action).next_obs.copy())
    pool.close()
    assert compare(Demos(np.concatenate(obs), next_obs=np.concatenate(after)), *robot(env)) == []


@pytest.mark.parametrize("name", ENVS)
def test_faults_of_a_real_recording_are_named(name):
    body, seen = robot(ENVS[name])
    obs = load(name).obs
    turn = [i for j in body.joints if j.kind == "hinge" for i in map(body.entries.index, (*j.places, *j.speeds))]
    high = body.entries.index("root_z" if name == "ant" else "rootz")

    def spoiled(columns: list[int], factor: float) -> str:
        wrong = obs.copy()
        wrong[:, columns] *= factor
        return " / ".join(compare(Demos(wrong), body, seen))

    assert "looks like degrees" in spoiled(turn, 180 / np.pi)
    assert "looks like millimetres" in spoiled([high], 1000)
    assert "look like reversed" in compare(Demos(obs[:, ::-1]), body, seen)[0]
    (fast,) = compare(Demos(obs[::2]), body, seen)
    assert f"steps at {1 / body.dt:.4g} Hz" in fast


def test_a_recording_of_every_physics_step_is_named_by_its_rate():
    env = make_env("HalfCheetah-v5", {"frame_skip": 1})  # 100 Hz
    obs, _ = env.reset(seed=0)
    env.action_space.seed(0)
    states = [obs]
    for _ in range(100):
        action = env.action_space.sample()
        states += [env.step(action)[0] for _ in range(5)]
    (line,) = compare(Demos(np.array(states)), *robot("HalfCheetah-v5"))
    assert line.endswith("looks like 100 Hz, HalfCheetah-v5 steps at 20 Hz")


# ----------------------------------------------------------------------------------------------------- command line


def test_check_compares_with_the_environment_that_an_import_was_told(tmp_path: Path, capsys):
    np.savetxt(tmp_path / "walk.csv", load("hopper").obs[:, ::-1])
    out = str(tmp_path / "walk.npz")
    assert main(["demos", "import", str(tmp_path / "walk.csv"), "--out", out]) == 0
    assert "warning" not in capsys.readouterr().out
    words = ["demos", "import", str(tmp_path / "walk.csv"), "--env", "Hopper-v5", "--out", out, "--overwrite"]
    assert main(words) == 0
    assert "look like reversed" in capsys.readouterr().out
    assert load(out).meta == {"env": "Hopper-v5"}
    assert main(["demos", "check", out]) == 0
    said = capsys.readouterr().out
    assert "look like reversed" in said
    assert "1 odd thing about" in said
    assert main(["demos", "check", "hopper"]) == 0
    assert capsys.readouterr().out.startswith("fine: hopper: 1000 states")
    assert main(["demos", "check", out, "--env", "Ant-v5"]) == 2
    assert "has 11 numbers, but a state of Ant-v5 has 105" in capsys.readouterr().err


def test_an_environment_of_the_users_own_is_imported_if_the_user_names_it(tmp_path: Path, capsys, monkeypatch):
    (tmp_path / "ownrobot.py").write_text(
        "import gymnasium\ndef cheetah(**kwargs):\n    return gymnasium.make('HalfCheetah-v5', **kwargs)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    assert main(["demos", "check", "halfcheetah", "--env", "ownrobot:cheetah"]) == 0
    assert capsys.readouterr().out.startswith("fine:")


def test_switches_of_a_recording_count_and_other_keywords_do_not(tmp_path: Path, capsys):
    obs = load("ant").obs[:, :27]
    kwargs = {"include_cfrc_ext_in_observation": False, "xml_file": "/etc/passwd"}
    path = save(tmp_path / "x.npz", Demos(obs, meta={"env": "Ant-v5", "env_kwargs": kwargs}))
    assert main(["demos", "check", str(path)]) == 0
    assert capsys.readouterr().out.startswith("fine:")


@pytest.mark.parametrize("dims", [[0, 1], [0, 0, 1], [0, 1, -1], [0, 1, True], "0-2", [0, 1, 2.5], [0, 1, 99]])
def test_match_dims_that_do_not_fit_are_refused(tmp_path: Path, capsys, dims):
    path = tmp_path / "x.npz"
    np.savez(
        path,
        obs=load("hopper").obs[:, :3],
        meta=np.array(f'{{"match_dims": {dims!r}}}'.replace("'", '"').replace("True", "true")),
    )
    assert main(["demos", "check", str(path), "--env", "Hopper-v5"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
