"""Films: real pictures where the machine can draw, the joining and writing of pictures everywhere."""

import functools
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio.v3 as imageio
import jax
import numpy as np
import pytest

from onlooker import __main__ as command_line
from onlooker import demos
from onlooker.demos import Demos
from onlooker.envs import films, render
from onlooker.envs.make import make_env
from onlooker.envs.world import Dynamics, World
from onlooker.errors import UserError
from onlooker.learning import networks
from onlooker.policies import policy_file
from onlooker.policies.actor import PolicyOptions
from onlooker.policies.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX; a command is no fork of us

ROBOTS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5")
HEIGHT, WIDTH = 30, 40


@functools.cache
def why_not() -> str:
    """Why this machine can't draw off-screen, or nothing. Asked in a process of its own: OpenGL may bring one down."""
    script = "from onlooker.envs.render import filming\nwith filming('Hopper-v5'): pass"
    tried = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return (tried.stderr.strip().splitlines() or ["no reason given"])[-1] if tried.returncode else ""


@pytest.fixture
def screen() -> None:
    if why_not():
        pytest.skip(f"no off-screen rendering on this machine: {why_not()}")


def swing(obs: np.ndarray, size: int) -> np.ndarray:
    """Any behaviour that moves: actions [1, A] from observations [1, D]."""
    return np.tanh(5 * obs[:, :size] + 0.5)


def onlooker(*words: object, **environment: str) -> subprocess.CompletedProcess:
    """The command line in a process of its own, without a screen."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MUJOCO_GL")}
    return subprocess.run(
        [sys.executable, "-m", "onlooker", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=inherited | environment,
    )


@pytest.fixture(scope="module")
def hopper_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained Hopper's policy."""
    path = tmp_path_factory.mktemp("policy") / "hopper.npz"
    options = PolicyOptions()
    actor = jax.device_get(networks.init_actor(jax.random.key(0), 11, 3, options))
    policy_file.save(path, Policy(actor, options, World(env="Hopper-v5"), {"method": "untrained"}))
    return path


def plain(count: int, value: int = 100, height: int = HEIGHT, width: int = WIDTH) -> list[np.ndarray]:
    return [np.full((height, width, 3), value, np.uint8) for _ in range(count)]


@pytest.mark.usefixtures("screen")
class TestPictures:
    @pytest.mark.parametrize("robot", ROBOTS)
    def test_show_a_moving_robot(self, robot: str) -> None:
        with render.filming(robot) as env:
            size = env.action_space.shape[0]  # type: ignore[index]
            frames, _ = render.film(env, lambda obs: swing(obs, size), seed=0, max_steps=6)
        assert len(frames) == 7
        assert all(frame.shape == (360, 480, 3) and frame.dtype == np.uint8 for frame in frames)
        assert all(frame.std() > 10 for frame in frames)  # not of one colour
        assert all((a != b).any() for a, b in itertools.pairwise(frames))

    def test_show_a_robot_from_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "ball.xml").write_text(
            '<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="5 5 1"/><body pos="0 0 1"><freejoint/>'
            '<geom size=".2"/><body pos=".3 0 0"><joint name="j"/><geom size=".1"/></body></body></worldbody>'
            '<actuator><motor joint="j" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>'
        )
        with render.filming(str(tmp_path / "ball.xml")) as env:
            assert render.pace(env) == (1, 50)
            frames, ret = render.film(env, lambda obs: swing(obs, 1), seed=0, max_steps=5)
        assert (len(frames), ret) == (6, 0)
        assert frames[0].std() > 5
        assert (frames[0] != frames[-1]).any()

    def test_every_nth_step_and_the_last(self) -> None:
        with render.filming("HalfCheetah-v5") as env:
            frames, _ = render.film(env, lambda obs: swing(obs, 6), seed=0, max_steps=7, every=3)
        assert len(frames) == 1 + 2 + 1  # the start, after steps 3 and 6, the end

    def test_sizes_can_be_chosen(self) -> None:
        with render.filming("Hopper-v5", size=(200, 120)) as env:
            assert env.render().shape == (120, 200, 3)  # type: ignore[union-attr]
        with render.filming("Hopper-v5", {"width": 100, "height": 90}) as env:
            assert env.render().shape == (90, 100, 3)  # type: ignore[union-attr]

    @pytest.mark.parametrize("robot", ROBOTS)
    def test_camera_and_floor_go_along(self, robot: str) -> None:
        with render.filming(robot) as env:
            env.reset(seed=0)
            robot_in: Any = env.unwrapped
            here = np.asarray(env.render(), int)
            far = robot_in.data.qpos + 150 * (np.arange(robot_in.model.nq) == 0)  # the XML's floor ends at 20 or 40
            robot_in.set_state(far, robot_in.data.qvel.copy())
            there = np.asarray(env.render(), int)
        assert np.abs(here - there).mean() < 1

    @pytest.mark.parametrize("robot", ROBOTS)
    def test_drawing_changes_no_physics(self, robot: str) -> None:
        dynamics = Dynamics(gravity=0.5)
        env = make_env(robot, dynamics=dynamics)
        size = env.action_space.shape[0]  # type: ignore[index]
        obs, total = env.reset(seed=3)[0], 0.0
        for _ in range(30):
            action = swing(np.asarray(obs, float)[None], size)[0].astype(np.float32)
            obs, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        env.close()
        with render.filming(robot, dynamics=dynamics) as filmed:
            _, ret = render.film(filmed, lambda obs: swing(obs, size), seed=3, max_steps=30, every=10)
        assert ret == total

    def test_two_at_once_do_not_disturb_each_other(self) -> None:
        with render.filming("Hopper-v5") as first:
            first.reset(seed=0)
            before = np.array(first.render())
            with render.filming("Ant-v5") as second:
                second.reset(seed=0)
                other = np.array(second.render())
                assert (np.array(first.render()) == before).all()
                assert (np.array(second.render()) == other).all()
            assert (np.array(first.render()) == before).all()

    def test_a_recording_can_be_shown(self) -> None:
        env = make_env("Hopper-v5")
        obs = [env.reset(seed=0)[0]]
        for _ in range(20):
            obs.append(env.step(np.array([0.3, -0.2, 0.1], np.float32))[0])
        env.close()
        frames = render.replay_states(Demos(obs=np.array(obs), meta={"env": "Hopper-v5"}), count=4)
        assert len(frames) == 4
        assert all((a != b).any() for a, b in itertools.pairwise(frames))
        with pytest.raises(UserError, match="do not tell"):
            render.replay_states(Demos(obs=np.array(obs)[:, :5], meta={"env": "Hopper-v5"}))


def test_a_recording_that_names_code_is_not_run() -> None:
    with pytest.raises(UserError, match="names no environment"):
        render.replay_states(demos.Demos(obs=np.zeros((3, 2)), meta={"env": "os:system"}))


class Blind(gym.Env):
    """Can't draw itself."""

    observation_space = gym.spaces.Box(-1, 1, (3,))
    action_space = gym.spaces.Box(-1, 1, (2,))

    def __init__(self, render_mode: str | None = None) -> None:
        pass

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, np.float32), {}

    def step(self, action):
        raise ZeroDivisionError("boom")


class Drawn(Blind):
    """Draws itself, without MuJoCo."""

    def render(self):
        return np.full((20, 30, 3), 7, np.uint8)


def test_an_environment_that_gives_no_pictures_is_refused() -> None:
    with (
        pytest.raises(UserError, match=r"can't film Blind: it gives no pictures"),
        render.filming(Blind, max_episode_steps=5),
    ):
        pass


def test_an_environment_that_fails_in_mid_film_is_named() -> None:
    with (
        render.filming(Drawn, max_episode_steps=5) as env,
        pytest.raises(UserError, match=r"ZeroDivisionError: boom \(.*test_render.py:\d+\)"),
    ):
        render.film(env, lambda obs: np.zeros((1, 2)), seed=0)


def test_pace_keeps_the_time_of_the_world() -> None:
    for robot, expected in (("Hopper-v5", (3, 125 / 3)), ("HalfCheetah-v5", (1, 20.0))):
        env = make_env(robot)
        assert render.pace(env) == expected
        env.close()


def test_side_by_side_geometry() -> None:
    left, right = plain(2, 200), plain(5, 90, height=HEIGHT + 6)
    joined = films.side_by_side(left, right, ("expert\nreturn 1", "imitator"))
    bar = 2 * films.LINE + 12
    assert len(joined) == 5
    assert all(frame.shape == (bar + HEIGHT + 6, 2 * WIDTH + films.GAP, 3) for frame in joined)
    assert all(frame.dtype == np.uint8 for frame in joined)
    for frame in joined:
        assert (frame[bar:, WIDTH + films.GAP :] == 90).all()  # the longer film runs on
        assert frame[:bar].std() > 1  # somebody wrote there
    assert (joined[1][bar : bar + HEIGHT, :WIDTH] == 200).all()
    held = joined[2][bar : bar + HEIGHT, :WIDTH]
    assert np.median(held) == 90  # 0.45 of 200: dimmed
    assert (held[HEIGHT // 2 :] != 90).any()  # and marked
    assert (joined[4] == joined[2]).all()


def test_equal_films_are_not_dimmed() -> None:
    joined = films.side_by_side(plain(3, 50), plain(3, 60), ("a", "b"))
    assert (joined[-1][-HEIGHT:, :WIDTH] == 50).all()


def test_film_strip_takes_first_and_last() -> None:
    frames = [np.full((HEIGHT, WIDTH, 3), i, np.uint8) for i in range(11)]
    strip = films.film_strip(frames, 3)
    assert strip.shape == (HEIGHT, 3 * WIDTH + 2 * films.GAP, 3)
    assert [strip[0, i * (WIDTH + films.GAP), 0] for i in range(3)] == [0, 5, 10]
    assert films.film_strip(frames[:2], 5).shape == (HEIGHT, 2 * WIDTH + films.GAP, 3)


@pytest.mark.parametrize(("height", "width"), [(64, 96), (63, 95)])
def test_mp4_reads_back(tmp_path: Path, height: int, width: int) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("the old film")
    frames = [np.full((height, width, 3), 10 * i, np.uint8) for i in range(20)]
    films.write_film(path, frames, fps=20)
    back = imageio.imread(path)
    assert back.shape == (20, 64, 96, 3)  # even
    assert np.abs(back.mean(axis=(1, 2, 3)) - 10 * np.arange(20)).max() < 4
    about = imageio.immeta(path, plugin="FFMPEG")
    assert about["fps"] == 20
    assert about["codec"] == "h264"
    assert about["pix_fmt"].startswith("yuv420p")
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_gif_keeps_its_time_with_fewer_pictures(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    frames = plain(40)
    for column, frame in enumerate(frames):
        frame[:, column] = 255
    films.write_film(path, frames, fps=40)
    back = imageio.imread(path)
    assert back.shape == (10, HEIGHT, WIDTH, 3)
    assert imageio.immeta(path)["duration"] == 100  # milliseconds a picture


@pytest.mark.parametrize("name", ["film.avi", "film", "missing/film.mp4"])
def test_bad_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError):
        films.write_film(tmp_path / name, plain(2), fps=20)


def test_a_failure_leaves_the_old_film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    path = tmp_path / "film.mp4"
    path.write_text("the old film")
    monkeypatch.setattr(films, "_mp4", fail)
    with pytest.raises(UserError, match="No space left"):
        films.write_film(path, plain(2), fps=20)
    assert path.read_text() == "the old film"
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_a_film_cut_short_by_a_full_disk_is_no_film(tmp_path: Path) -> None:
    """ffmpeg dies of it without a word. A limit on the size of files stands for the disk."""
    script = f"""
import resource, signal
from pathlib import Path
import numpy as np
from onlooker.envs.films import write_film
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
noise = np.random.default_rng(0).integers(0, 255, (30, 90, 120, 3), dtype=np.uint8)
write_film(Path({str(tmp_path / "cut.mp4")!r}), noise, 20)
"""
    tried = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert tried.returncode != 0
    assert "UserError: can't make the film" in tried.stderr.splitlines()[-1]
    assert "of its 30 pictures were written" in tried.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("screen")
def test_from_training_to_film(tmp_path: Path, hopper_policy: Path) -> None:
    run = tmp_path / "run"
    trained = onlooker("train", "ppo", "--env", "Hopper-v5", "--steps", 4096, "--out", run)
    assert trained.returncode == 0, trained.stderr
    filmed = onlooker("video", run, "--steps", 30)
    assert (filmed.returncode, filmed.stderr) == (0, "")
    assert str(run / "video.mp4") in filmed.stdout
    assert "return " in filmed.stdout
    assert imageio.imread(run / "video.mp4").shape[1:] == (360, 480, 3)
    out = tmp_path / "both.gif"
    both = onlooker("video", run, "--beside", hopper_policy, "--gravity", 0.4, "--steps", 30, "--out", out)
    assert (both.returncode, both.stderr) == (0, "")
    assert "left: untrained on Hopper-v5, as shipped" in both.stdout
    assert "right: ppo on Hopper-v5, gravity 0.4" in both.stdout
    assert imageio.imread(out).shape[1:] == (360 + 2 * films.LINE + 12, 2 * 480 + films.GAP, 3)


@pytest.mark.parametrize(
    "broken", [{"MUJOCO_GL": "nonsense"}, {"MUJOCO_GL": "egl", "__EGL_VENDOR_LIBRARY_DIRS": "/none"}]
)
def test_no_opengl_is_one_line(hopper_policy: Path, broken: dict[str, str]) -> None:
    refused = onlooker("video", hopper_policy, **broken)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "libegl1" in refused.stderr
    assert not hopper_policy.with_suffix(".mp4").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "0"], "--steps must be at least 1"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--out", "film.avi"], "must end in .mp4 or .gif"),
        (["--out", "missing/film.mp4"], "no writable folder"),
        (["--gravity", "nan"], "gravity"),
        (["--dynamics", "low-gravty"], "did you mean 'low-gravity'"),
        (["--beside", "nobody"], "there is no run nobody"),
    ],
)
def test_bad_values_are_one_line(
    hopper_policy: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["video", str(hopper_policy), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
