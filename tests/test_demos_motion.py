"""Recordings by name and time: hand-made motions whose positions and velocities are known at every instant."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from onlooker.__main__ import main
from onlooker.demos import Demos, load
from onlooker.demos.body import Body, Joint
from onlooker.demos.motion import Reading, read
from onlooker.demos.turns import product
from onlooker.envs.engine import mujoco
from onlooker.errors import UserError

ARM = Body(
    "Arm-v0",
    (Joint("cart", "slide", 0, 0), Joint("hip", "hinge", 1, 1), Joint("knee", "hinge", 2, 2)),
    dt=0.05,
    shown=(1, 2, 3, 4, 5),
)  # an observation: hip, knee, cart_vel, hip_vel, knee_vel
BALL = Body("Ball-v0", (Joint("root", "free", 0, 0),), dt=0.05, shown=tuple(range(2, 13)))


def swings(rate: float, seconds: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(time, hip, knee) of two sines."""
    t = np.arange(round(rate * seconds) + 1) / rate
    return t, 0.5 * np.sin(3 * t), 1 + 0.2 * np.sin(7 * t)


def test_a_sine_at_100_hz_becomes_states_at_20_hz():
    t, hip, knee = swings(100)
    demo = read(["hip", "knee", "cart"], np.stack([hip, knee, 2 * t], 1), ARM, Reading(rate=100))
    at = 0.05 * np.arange(41)
    assert demo.meta == {}
    assert demo.obs.shape == (41, 5)
    np.testing.assert_allclose(demo.obs[:, 0], 0.5 * np.sin(3 * at), atol=1e-6)
    np.testing.assert_allclose(demo.obs[:, 1], 1 + 0.2 * np.sin(7 * at), atol=1e-6)
    np.testing.assert_allclose(demo.obs[:, 2], 2, atol=1e-5)
    np.testing.assert_allclose(demo.obs[1:-1, 3], 1.5 * np.cos(3 * at[1:-1]), atol=5e-4)
    np.testing.assert_allclose(demo.obs[1:-1, 4], 1.4 * np.cos(7 * at[1:-1]), atol=2e-3)


def test_order_and_case_of_columns_and_degrees_and_maps_do_not_matter():
    t, hip, knee = swings(60)
    plain = read(["hip", "knee", "cart"], np.stack([hip, knee, 2 * t], 1), ARM, Reading(rate=60)).obs
    shuffled = read(["time", "Cart", "KNEE", "hip"], np.stack([t + 9, 2 * t, knee, hip], 1), ARM, Reading())
    np.testing.assert_allclose(shuffled.obs, plain, atol=1e-5)
    how = Reading({"left_knee": "knee", "stamp": "time", "note": "-"}, degrees=True)
    table = np.stack([t, np.degrees(knee), np.degrees(hip), 2 * t, np.full_like(t, np.nan)], 1)
    mapped = read(["stamp", "left_knee", "hip", "cart", "note"], table, ARM, how)
    np.testing.assert_allclose(mapped.obs, plain, atol=1e-5)


def test_uneven_times_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 2, 400))
    demo = read(["time", "hip"], np.stack([t, 3 * t], 1), ARM, Reading())
    np.testing.assert_allclose(demo.obs[:, 0], 3 * (t[0] + 0.05 * np.arange(len(demo.obs))), atol=1e-5)
    np.testing.assert_allclose(demo.obs[:, 1], 3, atol=1e-3)


def test_what_is_not_recorded_is_left_out():
    t, hip, _ = swings(100)
    demo = read(["hip"], hip[:, None], ARM, Reading(rate=100))
    assert demo.meta == {"match_dims": [0, 3]}
    assert demo.match_dims() == (0, 3)
    assert demo.obs.shape == (41, 2)
    only_way = read(["cart"], 2 * t[:, None], ARM, Reading(rate=100))  # where it is, no observation says
    assert only_way.meta == {"match_dims": [2]}
    np.testing.assert_allclose(only_way.obs[:, 0], 2, atol=1e-5)


def test_velocities_on_record_are_kept_and_cut_as_the_environment_cuts_them():
    t, hip, _ = swings(100)
    speed = np.full_like(t, 7.0)
    demo = read(["hip", "hip_vel"], np.stack([hip, speed], 1), ARM, Reading(rate=100))
    np.testing.assert_array_equal(demo.obs[:, 1], 7)
    cut = Body("Arm-v0", ARM.joints, 0.05, ARM.shown, fastest=2.0)
    np.testing.assert_array_equal(
        read(["hip", "hip_vel"], np.stack([hip, speed], 1), cut, Reading(rate=100)).obs[:, 1], 2
    )


def test_episodes_are_kept_apart():
    t, hip, _ = swings(100, seconds=1)
    table = np.concatenate([np.stack([t, hip, 0 * t], 1), np.stack([t, 5 + hip, 0 * t + 1], 1)])
    demo = read(["time", "hip", "episode"], table, ARM, Reading())
    assert demo.lengths.tolist() == [21, 21]
    np.testing.assert_allclose(demo.obs[:21, 0] + 5, demo.obs[21:, 0], atol=1e-6)
    np.testing.assert_allclose(demo.obs[:21, 1], demo.obs[21:, 1], atol=1e-4)  # no jump between the two


def test_gaps_are_filled_up_to_what_is_asked():
    _, hip, knee = swings(100)
    holed = hip.copy()
    holed[50:54] = np.nan
    table = np.stack([holed, knee], 1)
    with pytest.raises(UserError, match=r"hip has no number at rows 50 to 53, a gap of 0.05 s; --fill 0.05"):
        read(["hip", "knee"], table, ARM, Reading(rate=100))
    filled = read(["hip", "knee"], table, ARM, Reading(rate=100, fill=0.05))
    np.testing.assert_allclose(filled.obs[:, 0], 0.5 * np.sin(3 * 0.05 * np.arange(41)), atol=2e-3)
    with pytest.raises(UserError, match="rows 50 to 53"):
        read(["hip", "knee"], table, ARM, Reading(rate=100, fill=0.049))


def test_smoothing_takes_noise_out_of_velocities():
    t, hip, _ = swings(200, seconds=4)
    noisy = (hip + np.random.default_rng(0).normal(size=len(t)) * 0.01)[:, None]
    true = 1.5 * np.cos(3 * 0.05 * np.arange(81))
    rough, smooth = (read(["hip"], noisy, ARM, Reading(rate=200, smooth=rows)).obs[5:-5, 1] for rows in (1, 21))
    assert np.abs(rough - true[5:-5]).mean() > 0.5
    assert np.abs(smooth - true[5:-5]).mean() < 0.12


# --------------------------------------------------------------------------------------------------------- free joints


def spinning(t: np.ndarray, rate: float) -> np.ndarray:
    """Turns about its own z at a known rate, from lying on its side."""
    turn = np.stack([np.cos(rate * t / 2), 0 * t, 0 * t, np.sin(rate * t / 2)], axis=1)
    return product(np.array([np.sqrt(0.5), np.sqrt(0.5), 0, 0]), turn)


FREE = ["root_x", "root_y", "root_z", "root_qw", "root_qx", "root_qy", "root_qz"]


def test_a_free_joint_that_turns_at_a_known_rate():
    t = np.arange(201) / 100
    table = np.concatenate([np.stack([3 * t, -t, 1 + 0 * t], 1), spinning(t, 4.0)], axis=1)
    table[77:, 3:] *= -1  # the same turns: q and -q
    demo = read(FREE, table, BALL, Reading(rate=100))
    at = 0.05 * np.arange(41)
    turn = demo.obs[:, 1:5] * np.sign((demo.obs[:, 1:5] * spinning(at, 4.0)).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(turn, spinning(at, 4.0), atol=1e-6)
    np.testing.assert_allclose(demo.obs[:, 5:], np.tile([3, -1, 0, 0, 0, 4.0], (41, 1)), atol=1e-4)


def test_velocities_are_those_of_mujoco():
    rng = np.random.default_rng(1)
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint name='root'/><geom size='0.1'/></body></worldbody></mujoco>"
    )
    qpos = rng.normal(size=(3, 7))
    qpos[1:] = qpos[0] + 0.05 * rng.normal(size=(2, 7))
    qpos[:, 3:] /= np.linalg.norm(qpos[:, 3:], axis=1, keepdims=True)
    expected = np.zeros(6)
    mujoco.mj_differentiatePos(model, expected, 0.05, qpos[0], qpos[1])
    demo = read(FREE, qpos, BALL, Reading(rate=20))
    np.testing.assert_allclose(demo.obs[0, 5:], expected, rtol=1e-4, atol=1e-5)


def test_a_gap_in_a_quaternion_is_bridged():
    t = np.arange(201) / 100
    turn = spinning(t, 1.0)
    turn[60:] *= -1
    turn[57:63, 2] = np.nan
    table = np.concatenate([np.zeros((201, 3)), turn], axis=1)
    demo = read(FREE, table, BALL, Reading(rate=100, fill=0.1))
    np.testing.assert_allclose(np.linalg.norm(demo.obs[:, 1:5], axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(demo.obs[:, 10], 1, atol=1e-2)


# ----------------------------------------------------------------------------------------------------------- refusals


def column(**columns) -> tuple[list[str], np.ndarray]:
    return list(columns), np.stack([np.asarray(values, float) for values in columns.values()], axis=1)


LINE = np.linspace(0, 1, 101)
NAN = np.where(np.arange(101) < 3, np.nan, LINE)
SIDE = np.tile([1.0, 0, 0, 0], (101, 1))


@pytest.mark.parametrize(
    ("table", "how", "message"),
    [
        (column(hipp=LINE), {"rate": 100}, r"column 'hipp' names no joint of Arm-v0; did you mean 'hip'\?"),
        (column(hip=LINE, x=LINE), {"rate": 100}, "column 'x' names no joint .*--map 'x=JOINT', or =- to leave it out"),
        (column(a=LINE), {"rate": 100, "names": {"a": "hopp"}}, r"column 'a', mapped to 'hopp', names no joint"),
        (column(hip=LINE), {"rate": 100, "names": {"b": "hip"}}, r"--map names a column 'b' that is not there"),
        (column(hip=LINE, Hip=LINE), {"rate": 100}, "two columns hold 'hip': 'hip' and 'Hip'"),
        (column(time=LINE), {}, r"no column is named after a joint of Arm-v0 \(one of: cart, hip, knee, cart_vel"),
        (column(hip=LINE), {}, "Give a column named time, in seconds, or --rate"),
        (column(hip=LINE, time=LINE[::-1]), {}, "time goes back at row 1: 0.99 after 1"),
        (column(hip=LINE, time=LINE.round(1)), {}, "time repeats at row 1: 0 after 0"),
        (column(hip=LINE, time=NAN), {}, "time is nan at row 0"),
        (column(hip=LINE, time=LINE), {"rate": 50}, "--rate 50 does not fit the column time, by which it is 100 Hz"),
        (column(hip=LINE), {"rate": 1e5}, "lasts 0.001 s, but Arm-v0 makes a step in 0.05 s: does the rate fit"),
        (column(hip=LINE), {"rate": 1e-9}, "control steps; the limit is 10,000,000"),
        (column(hip=LINE), {"rate": 0.0}, "--rate must be a positive"),
        (column(hip=LINE), {"rate": float("nan")}, "--rate must be a positive"),
        (column(hip=LINE), {"rate": 100, "smooth": 2}, "--smooth must be an odd number"),
        (column(hip=LINE), {"rate": 100, "fill": -1.0}, "--fill must be 0 or more"),
        (column(hip=NAN), {"rate": 100, "fill": 9.0}, "hip has no number at rows 0 to 2, where the recording starts"),
        (column(hip=NAN[::-1]), {"rate": 100}, "hip has no number at rows 98 to 100, where the recording ends"),
        (column(hip=np.where(LINE == 0.5, np.inf, LINE)), {"rate": 100}, "hip is infinite at row 50"),
        (column(hip=LINE, episode=LINE > 0.5, time=LINE), {"rate": 50}, "does not fit"),
        (column(hip=LINE, episode=np.arange(101) % 2), {"rate": 100}, "an episode's rows must follow each other"),
        (column(hip=LINE[:0]), {"rate": 100}, "there are no rows"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_bad_recordings(table, how, message):
    with pytest.raises(UserError, match=message) as error:
        read(table[0], table[1], ARM, Reading(**how))
    assert "\n" not in str(error.value)


def test_bad_quaternions():
    with pytest.raises(UserError, match="root_qw is there without root_qx"):
        read(["root_qw"], SIDE[:, :1], BALL, Reading(rate=100))
    with pytest.raises(UserError, match="are no quaternion at row 5: their length is 3"):
        read(FREE[3:], SIDE * np.where(np.arange(101) == 5, 3, 1)[:, None], BALL, Reading(rate=100))


def test_much_interpolation_is_said():
    with pytest.warns(UserWarning, match="11 rows make 201 states"):
        read(["hip"], np.linspace(0, 1, 11)[:, None], ARM, Reading(rate=1))


# -------------------------------------------------------------------------------------------------------- command line


def written(path: Path, names: list[str], table: np.ndarray) -> str:
    np.savetxt(path, table, "%.9g", ",", header=",".join(names), comments="")
    return str(path)


def cheetah(tmp_path: Path) -> tuple[np.ndarray, str]:
    """The shipped run, its joints only, as a motion-capture table would have it: degrees, names of its own, 20 Hz."""
    obs = load("halfcheetah").obs
    names = ["time", "toe", "bthigh", "bshin", "bfoot", "fthigh", "fshin"]
    table = np.concatenate([0.05 * np.arange(1000)[:, None], np.degrees(obs[:, [7, 2, 3, 4, 5, 6]])], axis=1)
    return obs, written(tmp_path / "walk.csv", names, table)


def test_import_of_a_walk(tmp_path, capsys):
    obs, source = cheetah(tmp_path)
    out = str(tmp_path / "walk.npz")
    words = ["demos", "import", source, "--env", "HalfCheetah-v5", "--out", out, "--degrees", "--map", "toe=ffoot"]
    assert main(words) == 0
    assert "warning" not in capsys.readouterr().out
    demo = load(out)
    assert demo.meta["env"] == "HalfCheetah-v5"
    assert demo.meta["match_dims"] == [*range(2, 8), *range(11, 17)]
    np.testing.assert_allclose(demo.obs[:, :6], obs[:, 2:8], atol=1e-5)
    assert np.corrcoef(demo.obs[:, 6], obs[:, 11])[0, 1] > 0.9
    assert main(["demos", "check", out]) == 0
    assert capsys.readouterr().out.startswith("fine:")

    (tmp_path / "map.toml").write_text('toe = "ffoot"\n')
    words[-1] = str(tmp_path / "map.toml")
    assert main([*words, "--overwrite"]) == 0
    np.testing.assert_array_equal(load(out).obs, demo.obs)
    capsys.readouterr()
    assert main([word for word in words if word != "--degrees"] + ["--overwrite"]) == 0
    assert "looks like degrees" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "column 'toe' names no joint of HalfCheetah-v5"),
        (["--map", "toe"], "--map"),
        (["--map", "toe=ffoot,toe=bfoot"], "--map names 'toe' twice"),
        (["--map", "none.toml"], "none.toml"),
        (["--map", "toe=ffoot", "--rate", "120"], "--rate 120 does not fit"),
        (["--map", "toe=ffoot", "--fill", "nan"], "--fill"),
    ],
)
def test_import_refuses_in_one_line(tmp_path, capsys, words, message):
    _, source = cheetah(tmp_path)
    out = tmp_path / "walk.npz"
    assert main(["demos", "import", source, "--env", "HalfCheetah-v5", "--out", str(out), *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert message in said
    assert not out.exists()


def test_options_for_named_columns_are_refused_elsewhere(tmp_path, capsys):
    source = written(tmp_path / "x.csv", ["obs_0", "obs_1"], np.random.default_rng(0).normal(size=(9, 2)))
    assert main(["demos", "import", source, "--rate", "100", "--out", str(tmp_path / "x.npz")]) == 2
    assert "--rate is for tables whose columns are named after joints" in capsys.readouterr().err
    _, walk = cheetah(tmp_path)
    assert main(["demos", "import", walk, "--out", str(tmp_path / "x.npz")]) == 2
    assert "--env" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["= 1", 'toe = ["ffoot"]', "toe = 3", "\x00", "a" * 2_000_000])
def test_bad_map_files(tmp_path, capsys, text):
    _, source = cheetah(tmp_path)
    (tmp_path / "map.toml").write_text(text)
    words = ["--env", "HalfCheetah-v5", "--map", str(tmp_path / "map.toml")]
    assert main(["demos", "import", source, *words, "--out", str(tmp_path / "x.npz")]) == 2
    said = capsys.readouterr().err
    assert "map.toml" in said
    assert said.count("\n") == 1


def test_empty_cells_are_gaps(tmp_path, capsys):
    lines = ["time,bthigh,bshin"] + [f"{i / 20},{'' if i in (4, 5) else i / 100},{np.sin(i)}" for i in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    words = ["demos", "import", str(tmp_path / "x.csv"), "--env", "HalfCheetah-v5", "--out", str(tmp_path / "x.npz")]
    assert main(words) == 2
    assert "bthigh has no number at rows 4 to 5, a gap of 0.15 s" in capsys.readouterr().err
    assert main([*words, "--fill", "0.2"]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        demo: Demos = load(tmp_path / "x.npz")
    np.testing.assert_allclose(demo.obs[:, 0], np.arange(60) / 100, atol=1e-6)
