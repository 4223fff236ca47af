"""Other bodies: limbs, broken motors, late actions, slopes and other clocks change what they say and nothing else."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest
from test_dynamics import FROM_INERTIA, changed, compiled, edited
from test_pool import assert_equals_gymnasium, assert_goes_on_exactly, random_actions

from onlooker import __main__ as command_line
from onlooker.envs.dynamics import apply
from onlooker.envs.gym_pool import GymPool
from onlooker.envs.length import lowest_point
from onlooker.envs.make import make_env, make_pool
from onlooker.envs.pool import MujocoPool
from onlooker.envs.world import PRESETS, Dynamics, World, resolve
from onlooker.errors import UserError

LENGTH = FROM_INERTIA | {
    *("body_mass", "body_inertia", "body_subtreemass", "body_ipos", "body_pos"),
    *("geom_pos", "geom_size", "geom_aabb", "geom_rbound", "bvh_aabb"),
    *("dof_length", "cam_poscom0", "light_poscom0"),  # derived by mj_setConst
}


def test_a_longer_thigh_by_hand() -> None:
    shipped, after = compiled("Hopper-v5"), edited("Hopper-v5", length={"thigh": 1.2})
    moved = changed(shipped, after)
    assert {"geom_size", "body_pos", "body_mass"} <= moved <= LENGTH
    # bodies: world torso thigh leg foot; geoms: floor torso thigh leg foot. The hip stays; the knee was 0.45 below it.
    assert after.geom_size[2, :2] == pytest.approx([0.05, 0.27])
    assert after.geom_pos[2] == pytest.approx([0, 0, -0.27])
    assert after.body_pos[3] - shipped.body_pos[3] == pytest.approx([0, 0, -0.09])
    assert after.body_mass[1:] / shipped.body_mass[1:] == pytest.approx([1, 1.2, 1, 1])
    for name in ("geom_size", "geom_pos", "geom_rbound", "geom_aabb"):
        assert np.flatnonzero((getattr(after, name) != getattr(shipped, name)).reshape(5, -1).any(axis=1)).tolist() == [
            2
        ]
    assert np.flatnonzero((after.body_pos != shipped.body_pos).any(axis=1)).tolist() == [3]


def test_the_whole_leg_below_moves_along() -> None:
    places = []
    for model in (compiled("Hopper-v5"), edited("Hopper-v5", length={"thigh": 1.2})):
        data = mujoco.MjData(model)
        data.qpos[3:] = [-0.4, -0.7, 0.3]
        mujoco.mj_kinematics(model, data)
        places.append((data.xanchor.copy(), data.xpos.copy(), data.geom_xmat.copy()))
    (anchors, bodies, turns), (new_anchors, new_bodies, new_turns) = places
    grown = 0.2 * (anchors[4] - anchors[3])  # from hip to knee
    assert np.linalg.norm(grown) == pytest.approx(0.09)
    np.testing.assert_allclose(new_anchors[:4], anchors[:4], atol=1e-12)
    np.testing.assert_allclose(new_anchors[4:], anchors[4:] + grown, atol=1e-12)  # knee and ankle
    np.testing.assert_allclose(new_bodies[3:], bodies[3:] + grown, atol=1e-12)
    np.testing.assert_allclose(new_turns, turns, atol=1e-12)


BOX = """<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/>
    <geom type="{kind}" size="{size}" pos="0 0 {middle}" mass="{mass}"/></body></worldbody>
    <actuator><motor joint="j"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    ("kind", "size", "grown"), [("box", ".1 .2 .5", ".1 .2 1"), ("ellipsoid", ".1 .2 .5", ".1 .2 1")]
)
def test_a_stretched_box_is_the_longer_box(kind: str, size: str, grown: str) -> None:
    ours = mujoco.MjModel.from_xml_string(BOX.format(kind=kind, size=size, middle=0.5, mass=3))
    theirs = mujoco.MjModel.from_xml_string(BOX.format(kind=kind, size=grown, middle=1, mass=6))
    apply(Dynamics(length={"arm": 2.0}), ours)
    for name in ("body_mass", "body_ipos", "body_inertia", "geom_pos", "geom_size", "geom_rbound", "geom_aabb"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12, err_msg=name)
    for name in FROM_INERTIA:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, err_msg=name)


def test_the_inertia_of_a_skew_body_is_that_of_its_stretched_mass() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, 3))
    points -= points.mean(axis=0)

    def inertia(places: np.ndarray) -> np.ndarray:
        second = places.T @ places
        return np.trace(second) * np.eye(3) - second

    full = inertia(points)
    numbers = " ".join(str(full[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><body name="arm"><joint name="j"/>
        <inertial pos="0 0 1" mass="20" fullinertia="{numbers}"/><geom type="capsule" size=".1 1"/></body></worldbody>
        <actuator><motor joint="j"/></actuator></mujoco>""")
    apply(Dynamics(length={"arm": 1.5}), model)
    frame = np.zeros(9)
    mujoco.mju_quat2Mat(frame, model.body_iquat[1])
    axes = frame.reshape(3, 3)
    # Mass by length: each of the points counts 1.5 times.
    np.testing.assert_allclose(
        axes @ np.diag(model.body_inertia[1]) @ axes.T, 1.5 * inertia(points * [1, 1, 1.5]), rtol=1e-9, atol=1e-9
    )
    assert model.body_mass[1] == 30
    assert model.body_ipos[1].tolist() == [0, 0, 1.5]


@pytest.mark.parametrize("robot", ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5"])
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_a_robot_of_another_length_stands_on_the_floor_and_not_in_it(robot: str, factor: float) -> None:
    before: Any = make_env(robot).unwrapped
    after: Any = make_env(robot, dynamics=Dynamics(length=factor)).unwrapped
    at_start = lowest_point(before.model, before.init_qpos)
    assert lowest_point(after.model, after.init_qpos) == pytest.approx(at_start, abs=1e-9)
    data = mujoco.MjData(after.model)
    data.qpos[:] = after.init_qpos
    deepest = 0.0
    for _ in range(300):
        mujoco.mj_step(after.model, data)
        deepest = min(deepest, lowest_point(after.model, data.qpos))
    assert deepest > -0.05  # every part that reaches the floor is held by it


def test_what_has_no_length_is_refused() -> None:
    with pytest.raises(UserError, match="'torso' is as long as it is wide"):
        edited("Ant-v5", length={"torso": 2.0})
    with pytest.raises(UserError, match="did you mean 'thigh'"):
        edited("Hopper-v5", length={"thig": 2.0})


@pytest.mark.parametrize(("factor", "expected"), [(2.0, 0.004), (0.5, 0.001)])
def test_another_clock(factor: float, expected: float) -> None:
    shipped, after = compiled("Hopper-v5"), edited("Hopper-v5", timestep=factor)
    assert changed(shipped, after) == {"opt.timestep"}
    assert after.opt.timestep == expected
    env: Any = make_env("Hopper-v5", dynamics=Dynamics(timestep=factor)).unwrapped
    assert env.dt == 4 * expected
    assert env.metadata["render_fps"] == round(1 / (4 * expected))


def test_a_slope_tilts_gravity() -> None:
    shipped, after = compiled("Hopper-v5"), edited("Hopper-v5", slope=30)
    assert changed(shipped, after) == {"opt.gravity"}
    assert after.opt.gravity == pytest.approx([-9.81 / 2, 0, -9.81 * np.sqrt(3) / 2])
    # A slippery block speeds down a slope of 30 degrees at g/2.
    block = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="9 9 1" condim="1"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" condim="1"/></body></worldbody></mujoco>""")
    apply(Dynamics(slope=30), block)
    data = mujoco.MjData(block)
    mujoco.mj_step(block, data, 500)
    assert data.qvel[0] == pytest.approx(-9.81 / 2 * 1.0, rel=1e-3)
    assert abs(data.qvel[2]) < 1e-2


def test_a_broken_motor_does_nothing_and_the_others_go_on() -> None:
    shipped, after = compiled("Hopper-v5"), edited("Hopper-v5", gear={"leg_joint": 0})
    assert after.actuator_gear[:, 0].tolist() == [200, 0, 200]
    assert changed(shipped, after) <= {"actuator_gear", "actuator_acc0"}
    ends = []
    for leg in (-1.0, 1.0):
        pool = make_pool("Hopper-v5", 1, 0, dynamics=Dynamics(gear={"leg_joint": 0.0}))
        pool.reset()
        for _ in range(10):
            pool.step(np.array([[0.2, leg, 0.1]]))
        ends.append(pool.obs.copy())
    assert np.array_equal(ends[0], ends[1])


def test_a_motor_can_be_called_by_its_own_name() -> None:
    xml = """<mujoco><worldbody><body name="arm"><joint name="j"/><geom size=".1"/></body></worldbody>
      <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
      <actuator><motor name="pull" tendon="t" gear="5"/><motor name="push" joint="j" gear="7"/></actuator></mujoco>"""
    for gear, expected in (({"pull": 0.0}, [0, 7]), ({"push": 2.0}, [5, 14]), ({"j": 0.0}, [5, 0])):
        model = mujoco.MjModel.from_xml_string(xml)
        apply(Dynamics(gear=gear), model)
        assert model.actuator_gear[:, 0].tolist() == expected


@pytest.mark.parametrize("source", ["Hopper-v5", "Reacher-v5", "Pendulum-v1"])
def test_late_actions_are_the_same_actions_later(source: str) -> None:
    late, prompt = make_pool(source, 2, 3, dynamics=Dynamics(delay=3)), make_pool(source, 2, 3)
    assert isinstance(late, GymPool if source == "Pendulum-v1" else MujocoPool)
    actions = random_actions(late, 40)
    late.reset()
    prompt.reset()
    coming = np.zeros((2, 3, late.action_size), np.float32)
    for action in actions:
        coming = np.concatenate([coming, action[:, None]], axis=1)
        ours, theirs = late.step(action), prompt.step(coming[:, 0])
        coming = coming[:, 1:]
        for mine, other in zip(ours, theirs):
            np.testing.assert_array_equal(mine, other)
        coming[ours.terminated | ours.truncated] = 0  # nothing is on its way in a new episode


@pytest.mark.parametrize("source", ["Hopper-v5", "Pendulum-v1"])
@pytest.mark.parametrize("before", [1, 2, 30])
def test_late_actions_go_on_exactly_after_save_and_load(source: str, before: int) -> None:
    assert_goes_on_exactly(source, before, 30, dynamics=Dynamics(delay=4), max_episode_steps=25)


@pytest.mark.parametrize("before", [1, 2, 30])
def test_actions_late_by_a_part_of_a_step_go_on_exactly_after_save_and_load(before: int) -> None:
    assert_goes_on_exactly("Hopper-v5", before, 30, dynamics=Dynamics(delay=1.75), max_episode_steps=25)


@pytest.mark.parametrize("delay", [0.25, 1.5])
def test_an_action_late_by_a_part_of_a_step_is_done_from_that_physics_step_on(delay: float) -> None:
    """Hopper's control step has four physics steps."""
    pool = make_pool("Hopper-v5", 1, 3, dynamics=Dynamics(delay=delay), max_episode_steps=30)
    assert isinstance(pool, MujocoPool)
    pool.reset()
    actions = random_actions(pool, 6)
    bare = mujoco.MjData(pool.model)
    bare.qpos[:], bare.qvel[:] = pool.data[0].qpos, pool.data[0].qvel
    mujoco.mj_forward(pool.model, bare)
    done = np.concatenate([np.zeros((round(4 * delay), 3)), np.repeat(actions[:, 0], 4, axis=0)])
    for step, action in enumerate(actions):
        pool.step(action)
        for control in done[4 * step : 4 * step + 4]:
            bare.ctrl[:] = control
            mujoco.mj_step(pool.model, bare)
        np.testing.assert_array_equal(pool.data[0].qpos, bare.qpos)


def test_a_part_of_a_step_needs_physics_to_part() -> None:
    with pytest.raises(UserError, match=r"delay must be whole control steps .*, not 0.5"):
        make_pool("Pendulum-v1", 1, 0, dynamics=Dynamics(delay=0.5))


@pytest.mark.parametrize(
    ("words", "fields"),
    [("implicitfast", {"opt.integrator"}), ("Elliptic, cg", {"opt.cone", "opt.solver"}), ("PGS", {"opt.solver"})],
)
def test_another_solver(words: str, fields: set[str]) -> None:
    shipped, after = compiled("Hopper-v5"), edited("Hopper-v5", solver=words)
    assert changed(shipped, after) == fields
    if "opt.integrator" in fields:
        assert after.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if "opt.cone" in fields:
        assert (after.opt.cone, after.opt.solver) == (mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_CG)


CHANGES: list[dict[str, Any]] = [
    {"length": {"thigh": 1.3}},
    {"length": 0.8, "delay": 2},
    {"timestep": 1.5, "slope": 10},
    {"gear": {"foot_joint": 0.0}, "slope": -5, "delay": 1},
    {"delay": 0.25, "gear": 0.7},
    {"delay": 2.75, "solver": "implicitfast,elliptic"},
]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("preset", ["none", "low-gravity", "high-density", "high-friction", "high-damping"])
def test_a_pool_equals_gymnasium_with_each_of_them_and_a_preset(preset: str, changes: dict[str, Any]) -> None:
    dynamics = resolve(preset, **changes)
    assert dynamics.changes == PRESETS[preset].changes | changes
    pool = make_pool("Hopper-v5", 2, 3, dynamics=dynamics)
    assert isinstance(pool, MujocoPool)
    assert_equals_gymnasium(
        pool, [make_env("Hopper-v5", dynamics=dynamics) for _ in range(2)], random_actions(pool, 40)
    )


def test_a_preset_and_a_body_are_both_in_the_model() -> None:
    model = edited("Hopper-v5", density=2.0, length={"thigh": 1.5}, gravity=0.5, slope=30)
    shipped = compiled("Hopper-v5")
    assert model.body_mass[1:] / shipped.body_mass[1:] == pytest.approx([2, 3, 2, 2])
    assert np.linalg.norm(model.opt.gravity) == pytest.approx(9.81 / 2)
    assert model.opt.gravity[0] == pytest.approx(-9.81 / 4)


def test_a_robot_from_its_file_has_other_bodies_too(tmp_path: Path) -> None:
    (tmp_path / "hopper.xml").write_text(Path(gym.make("Hopper-v5").unwrapped.fullpath).read_text())  # type: ignore[attr-defined]
    source, dynamics = str(tmp_path / "hopper.xml"), Dynamics(length={"leg": 1.4}, delay=2, timestep=0.5)
    pool = make_pool(source, 1, 3, dynamics=dynamics)
    assert pool.obs_size == 11
    twin = make_env(source, dynamics=dynamics)
    assert twin.unwrapped.dt == pytest.approx(0.01)  # type: ignore[attr-defined]
    assert_equals_gymnasium(pool, [twin], random_actions(pool, 60))
    pool.reset()
    assert 1.25 + 0.18 < pool.obs[0, 0] < 1.25 + 0.22  # a leg of 0.5 m grew by 0.2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"delay": -1}, "delay must be from 0 to 100 control steps, not -1"),
        ({"delay": np.nan}, "delay must be from 0 to 100 control steps, not nan"),
        ({"delay": 101}, "delay must be from 0 to 100"),
        ({"delay": True}, "delay must be from 0 to 100"),
        ({"solver": "RK5"}, "solver: there is no 'RK5'; did you mean 'RK4'?"),
        ({"solver": "RK4,Euler"}, "solver: Euler and RK4 are both a kind of integrator"),
        ({"solver": "RK4,"}, "solver: there is no ''"),
        ({"solver": 3}, "solver must be up to 3 words"),
        ({"slope": 46}, "slope must be from -45 to 45 degrees, not 46"),
        ({"slope": np.nan}, "slope must be from -45 to 45 degrees, not nan"),
        ({"slope": "up"}, "slope must be from -45 to 45 degrees, not 'up'"),
        ({"timestep": 0}, "timestep factor must be a positive, finite number"),
        ({"timestep": {"torso": 2.0}}, "timestep factor must be a positive, finite number"),
        ({"length": -1}, "length factor must be a positive, finite number"),
        ({"length": {"thigh": 0}}, "length factor must be a positive, finite number"),
        ({"gear": 0}, "gear factor must be a positive, finite number"),
        ({"gear": {"knee": -1}}, "gear factor must be a positive, finite number"),
        ({"gear": {"knee": False}}, "gear factor must be a positive, finite number"),
    ],
)
def test_bad_values_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as failure:
        Dynamics(**changes)
    assert reason in str(failure.value)


def test_only_a_delay_works_without_a_model() -> None:
    assert make_pool("Pendulum-v1", 1, 0, dynamics=Dynamics(delay=1)).num_envs == 1
    with pytest.raises(UserError, match="Pendulum-v1 has no MuJoCo model, so its slope can't be changed"):
        make_pool("Pendulum-v1", 1, 0, dynamics=Dynamics(delay=1, slope=3))
    with pytest.raises(UserError, match="slope does nothing"):
        make_pool("Pusher-v5", 1, 0, dynamics=Dynamics(slope=3))


def test_the_command_line_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    for words, reason in (
        (["--length", "thig=1.3"], "did you mean 'thigh'?"),
        (["--delay", "0.3"], "a control step has 4 physics steps, so it can be late by multiples of 0.25, not by 0.3"),
        (["--delay", "late"], "'late'"),
        (["--solver", "RK4"], "solver: RK4 does nothing in this model: it is what it has"),
        (["--solver", "rk5"], "did you mean 'RK4'?"),
        (["--slope", "90"], "slope must be from -45 to 45"),
        (["--timestep", "0"], "timestep factor"),
        (["--gear", "leg_joint=0", "--length", "nose=0"], "length factor"),
    ):
        assert command_line.main(["train", "ppo", "--env", "Hopper-v5", *words]) == 2
        told = capsys.readouterr().err
        assert reason in told
        assert told.count("\n") == 1
    world = World(env="Hopper-v5", length={"thigh": 1.3}, delay=2, slope=5.0)
    assert world.resolve().changes == {"length": {"thigh": 1.3}, "slope": 5.0, "delay": 2}
