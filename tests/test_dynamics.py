"""Each edit changes what it says and nothing else, in the compiled model of all four robots."""

import math
import runpy
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import pytest

from onlooker.envs.dynamics import AIR, apply
from onlooker.envs.make import make_env
from onlooker.envs.world import PRESETS, Dynamics, parse_factor, resolve
from onlooker.errors import UserError

MASSES = {"HalfCheetah-v5": 14.0, "Hopper-v5": 15.82, "Walker2d-v5": 23.677, "Ant-v5": 0.911}
ROBOTS = list(MASSES)
FACTORS = ["gravity", "density", "friction", "damping", "armature", "stiffness", "gear"]

# What MuJoCo derives from masses, armatures and gears at compile time, by the field that it follows from.
FROM_INERTIA = {"body_invweight0", "dof_invweight0", "dof_M0", "actuator_acc0"}
CHANGES: dict[str, tuple[set[str], set[str]]] = {  # factor -> (fields that it multiplies, fields derived from those)
    "gravity": ({"opt.gravity"}, set()),
    "density": ({"body_mass", "body_inertia"}, FROM_INERTIA | {"body_subtreemass"}),
    "friction": ({"geom_friction"}, set()),
    "damping": ({"dof_damping"}, set()),
    "armature": ({"dof_armature"}, FROM_INERTIA),
    "stiffness": ({"jnt_stiffness"}, set()),
    "gear": ({"actuator_gear"}, {"actuator_acc0"}),
}
# mj_setConst, which the edits are defined by, leaves these two averages as compiled. A recompiled XML has new ones.
NOT_RECOMPUTED = {"stat.meaninertia", "stat.meanmass"}


def compiled(robot: str) -> mujoco.MjModel:
    return make_env(robot).unwrapped.model  # type: ignore[attr-defined]


def edited(robot: str, **changes: Any) -> mujoco.MjModel:
    model = compiled(robot)
    apply(Dynamics(**changes), model)
    return model


def numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Every number in a compiled model, by name."""
    found = {}
    for prefix, part in (("", model), ("opt.", model.opt), ("stat.", model.stat)):
        for name in dir(part):
            value = getattr(part, name)
            if not name.startswith("_") and isinstance(value, np.ndarray | int | float | np.number):
                found[prefix + name] = np.array(value)
    assert len(found) > 300
    return found


def changed(before: mujoco.MjModel, after: mujoco.MjModel) -> set[str]:
    old, new = numbers(before), numbers(after)
    assert old.keys() == new.keys()
    return {name for name in old if not np.array_equal(old[name], new[name])}


def recompiled(robot: str, factor: str, by: float) -> mujoco.MjModel:
    """The robot's own XML with a factor written into it before MuJoCo compiles it."""
    spec = mujoco.MjSpec.from_file(make_env(robot).unwrapped.fullpath)  # type: ignore[attr-defined]
    robot_geoms = [geom for body in spec.bodies[1:] for geom in body.geoms]
    if factor == "gravity":
        spec.option.gravity = spec.option.gravity * by
    elif factor == "density" and robot == "HalfCheetah-v5":
        spec.compiler.settotalmass *= by
    elif factor == "density":
        for geom in robot_geoms:
            geom.density *= by
    elif factor == "friction":
        for geom in robot_geoms:
            geom.friction = geom.friction * by
    elif factor == "gear":
        for actuator in spec.actuators:
            actuator.gear = actuator.gear * by
    else:
        for joint in spec.joints:
            setattr(joint, factor, getattr(joint, factor) * by)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*settotalmass")
        return spec.compile()


# Only HalfCheetah has springs.
EDITS = [(r, f) for f in FACTORS for r in ROBOTS if f != "stiffness" or r == "HalfCheetah-v5"]


@pytest.mark.parametrize("robot", ["Hopper-v5", "Walker2d-v5", "Ant-v5"])
def test_a_factor_on_what_a_model_does_not_have_is_refused(robot: str) -> None:
    with pytest.raises(UserError, match="stiffness is 0 in this model"):
        edited(robot, stiffness=2.0)


@pytest.mark.parametrize(("robot", "factor"), EDITS)
def test_a_factor_multiplies_its_own_fields_and_only_derived_constants_follow(robot: str, factor: str) -> None:
    multiplied, derived = CHANGES[factor]
    # A power of two is exact in floating point, so that not even a rounding may differ elsewhere.
    shipped, after = compiled(robot), edited(robot, **{factor: 4.0})
    old, new = numbers(shipped), numbers(after)
    moved = changed(shipped, after)
    assert multiplied <= moved <= multiplied | derived
    for name in multiplied - {"geom_friction"}:
        assert np.array_equal(new[name], old[name] * 4), name


@pytest.mark.parametrize(("robot", "factor"), EDITS)
def test_an_edited_model_equals_the_recompiled_xml(robot: str, factor: str) -> None:
    # This is what shows that the derived constants really are derived from the edit.
    ours, theirs = numbers(edited(robot, **{factor: 2.5})), numbers(recompiled(robot, factor, 2.5))
    for name in ours.keys() - NOT_RECOMPUTED:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("robot", ROBOTS)
def test_masses_as_shipped_and_doubled(robot: str) -> None:
    assert compiled(robot).body_mass.sum() == pytest.approx(MASSES[robot], abs=5e-4)
    doubled = compiled(robot)
    apply(PRESETS["high-density"], doubled)
    assert doubled.body_mass.sum() == pytest.approx(2 * compiled(robot).body_mass.sum(), rel=1e-14)
    assert mujoco.mj_getTotalmass(doubled) == pytest.approx(2 * MASSES[robot], abs=1e-3)


def test_half_cheetah_becomes_28_kilograms() -> None:
    assert compiled("HalfCheetah-v5").body_mass.sum() == pytest.approx(14.0, rel=1e-14)
    assert edited("HalfCheetah-v5", density=2).body_mass.sum() == pytest.approx(28.0, rel=1e-14)


@pytest.mark.parametrize("robot", ROBOTS)
def test_friction_is_the_robots_and_not_the_floors(robot: str) -> None:
    shipped, after = compiled(robot), edited(robot, friction=3)
    floor = shipped.geom_bodyid == 0
    assert floor.sum() == 1
    assert np.array_equal(after.geom_friction[floor], shipped.geom_friction[floor])
    assert np.array_equal(after.geom_friction[~floor], shipped.geom_friction[~floor] * 3)
    assert (shipped.geom_friction[~floor, 0] > 0).all()


@pytest.mark.parametrize("robot", ROBOTS)
def test_friction_of_every_touch_with_the_floor_triples(robot: str) -> None:
    """MuJoCo takes the larger of two touching geoms: what counts is the friction of the contact itself."""
    frictions = []
    for model in (compiled(robot), edited(robot, friction=3)):
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 500)  # lie down
        frictions.append({contact.friction[0] for contact in data.contact[: data.ncon]})
    before, after = frictions
    assert before
    floor = compiled(robot).geom_friction[compiled(robot).geom_bodyid == 0, 0].item()
    robots = set(compiled(robot).geom_friction[compiled(robot).geom_bodyid > 0, 0])
    assert before <= {max(floor, own) for own in robots}
    assert after <= {max(floor, own * 3) for own in robots}


def test_a_pyramidal_floor_softens_with_friction_as_its_page_says() -> None:
    root = Path(__file__).parent.parent
    push = runpy.run_path(str(root / "tools" / "floor_table.py"))["push"]
    page = (root / "docs" / "decisions" / "a-softer-floor.md").read_text()
    shipped, tripled = push("Hopper", Dynamics()), push("Hopper", Dynamics(friction=3))
    assert f"under Hopper is {shipped / tripled:.0f} times as soft" in page
    hard, harder = push("Hopper", Dynamics(solver="elliptic")), push("Hopper", Dynamics(solver="elliptic", friction=3))
    assert hard == pytest.approx(harder, rel=1e-9)
    assert f"| Hopper | {shipped:.2f} |" in page
    assert f" {tripled:.2f} | {hard:.2f} |" in page


@pytest.mark.parametrize("robot", ROBOTS)
def test_wind_sets_the_wind_and_gives_air_where_there_is_none(robot: str) -> None:
    shipped, after = compiled(robot), edited(robot, wind=(5, 0, -1))
    assert changed(shipped, after) == {"opt.wind", "opt.density"}
    assert shipped.opt.density == 0
    assert after.opt.density == AIR == 1.2
    assert after.opt.wind.tolist() == [5, 0, -1]


def test_wind_keeps_a_medium_that_is_there() -> None:
    model = make_env("Swimmer-v5").unwrapped.model  # type: ignore[attr-defined]
    medium = model.opt.density, model.opt.viscosity
    apply(Dynamics(wind=(1, 0, 0)), model)
    assert medium[0] > 0
    assert (model.opt.density, model.opt.viscosity) == medium


@pytest.mark.parametrize("robot", ROBOTS)
def test_wind_moves_the_robot(robot: str) -> None:
    places = []
    for speed in (0.0, 8.0, -8.0):
        model = edited(robot, wind=(speed, 0, 0))
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 100)
        places.append(data.qpos[0])
    still, pushed, pulled = places
    assert pulled < still - 1e-3
    assert pushed > still + 1e-3


@pytest.mark.parametrize("robot", ROBOTS)
def test_no_change_is_no_change(robot: str) -> None:
    assert changed(compiled(robot), edited(robot)) == set()
    assert changed(compiled(robot), edited(robot, density={}, damping=1, wind=(0, 0, 0))) == set()
    assert Dynamics().changes == {}


def test_factors_by_name_touch_the_named_part_alone() -> None:
    shipped = compiled("Hopper-v5")
    after = edited("Hopper-v5", density={"torso": 2.0, "foot": 0.5}, damping={"leg_joint": 3.0}, gear={"foot_joint": 4})
    # bodies: world torso thigh leg foot; dofs: rootx rootz rooty thigh leg foot
    ratio = after.body_mass[1:] / shipped.body_mass[1:]
    assert ratio.tolist() == [2, 1, 1, 0.5]
    assert (after.body_inertia[1:] / shipped.body_inertia[1:]).T.tolist() == [[2, 1, 1, 0.5]] * 3
    assert after.dof_damping.tolist() == [0, 0, 0, 1, 3, 1]
    assert after.actuator_gear[:, 0].tolist() == [200, 200, 800]


def test_friction_by_name_goes_to_the_geoms_of_that_body() -> None:
    shipped, after = compiled("Walker2d-v5"), edited("Walker2d-v5", friction={"foot_left": 3})
    ratio = (after.geom_friction / shipped.geom_friction)[:, 0]
    touched = {mujoco.mj_id2name(shipped, mujoco.mjtObj.mjOBJ_GEOM, i) for i in np.flatnonzero(ratio != 1)}
    assert touched == {"foot_left_geom"}
    assert ratio.max() == pytest.approx(3, rel=1e-15)


def test_a_body_without_a_name_has_one_by_its_number() -> None:
    shipped, after = compiled("Ant-v5"), edited("Ant-v5", density={"body4": 2.0})
    assert np.flatnonzero(shipped.body_mass != after.body_mass).tolist() == [4]


@pytest.mark.parametrize(
    ("changes", "meant"),
    [
        ({"density": {"tors": 2.0}}, "'torso'"),
        ({"friction": {"fot": 2.0}}, "'foot'"),
        ({"damping": {"leg_jont": 2.0}}, "'leg_joint'"),
        ({"gear": {"thigh_join": 2.0}}, "'thigh_joint'"),
    ],
)
def test_an_unknown_part_is_refused_with_the_nearest_name(changes: dict[str, Any], meant: str) -> None:
    with pytest.raises(UserError, match=f"did you mean {meant}"):
        edited("Hopper-v5", **changes)


def test_the_floor_and_joints_without_a_motor_are_no_parts() -> None:
    with pytest.raises(UserError, match="no part 'world'"):
        edited("Hopper-v5", density={"world": 2.0})
    with pytest.raises(UserError, match="no part 'rootx'"):
        edited("Hopper-v5", gear={"rootx": 2.0})


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, -math.inf, "2", None, True])
def test_bad_factors_are_refused(factor: str, bad: Any) -> None:
    with pytest.raises(UserError, match=f"{factor} factor must be a positive, finite number"):
        Dynamics(**{factor: bad})
    if factor != "gravity" and (factor, bad) != ("gear", 0):  # a motor may be broken, but not all of them
        by_name: dict[str, Any] = {factor: {"torso": bad}}
        with pytest.raises(UserError, match=f"{factor} factor must be a positive, finite number"):
            Dynamics(**by_name)


@pytest.mark.parametrize("bad", [(1, 2), (1, 2, 3, 4), (math.nan, 0, 0), (math.inf, 0, 0), 5.0, "1,2,3", ("a", 0, 0)])
def test_bad_wind_is_refused(bad: Any) -> None:
    with pytest.raises(UserError, match="wind must be three finite numbers"):
        Dynamics(wind=bad)


def test_gravity_has_no_parts() -> None:
    with pytest.raises(UserError, match="gravity factor must be a positive, finite number"):
        edited("Hopper-v5", gravity={"torso": 2.0})


def test_presets_are_what_the_paper_names() -> None:
    assert {name: preset.changes for name, preset in PRESETS.items()} == {
        "none": {},
        "low-gravity": {"gravity": 0.5},
        "high-density": {"density": 2.0},
        "high-friction": {"friction": 3.0},
        "high-damping": {"damping": 3.0},
    }


def test_an_explicit_factor_replaces_the_presets() -> None:
    assert resolve("low-gravity", gravity=0.4).changes == {"gravity": 0.4}
    assert resolve("low-gravity", gravity=None, density=3.0).changes == {"gravity": 0.5, "density": 3.0}
    assert resolve("high-friction", friction={"foot": 2.0}).changes == {"friction": {"foot": 2.0}}
    with pytest.raises(UserError, match="did you mean 'low-gravity'"):
        resolve("lowgravity")


def test_factors_as_text() -> None:
    assert parse_factor("0.5") == 0.5
    assert parse_factor("torso=2, foot=0.5") == {"torso": 2.0, "foot": 0.5}
    for bad in ("half", "torso=", "torso=2,foot", "", "=2", "torso=2, =3"):
        with pytest.raises(UserError, match="is no factor"):
            parse_factor(bad)
    with pytest.raises(UserError, match="'torso=2,torso=3' has 'torso' twice"):
        parse_factor("torso=2,torso=3")


@pytest.mark.parametrize("bad", [1e-300, 9e-4, 1001, 1e300])
def test_a_factor_has_a_sane_range(bad: float) -> None:
    with pytest.raises(UserError, match=r"density factor must be from 0.001 to 1000, not"):
        Dynamics(density=bad)
    with pytest.raises(UserError, match=r"density factor must be from 0.001 to 1000, not"):
        Dynamics(density={"torso": bad})
    assert Dynamics(density=1e-3, gravity=1e3).changes == {"gravity": 1e3, "density": 1e-3}


@pytest.mark.parametrize(
    ("robot", "changes", "reason"),
    [
        ("Swimmer-v5", {"friction": 2.0}, "friction does nothing"),  # its geoms touch nothing
        ("Swimmer-v5", {"gravity": 2.0}, "gravity does nothing"),  # all its joints lie in the level plane
        ("Swimmer-v5", {"damping": 2.0}, "damping is 0"),
        ("InvertedPendulum-v5", {"friction": 2.0}, "friction does nothing"),
        ("Reacher-v5", {"gravity": 2.0}, "gravity does nothing"),
        ("Pusher-v5", {"gravity": 2.0}, "gravity does nothing"),  # it has none
        ("Pusher-v5", {"friction": 2.0}, "friction does nothing"),  # its contacts are slippery: condim 1
        ("HalfCheetah-v5", {"friction": 0.5}, "MuJoCo takes the larger"),  # the floor has 0.4, too
        ("HalfCheetah-v5", {"friction": {"torso": 0.5}}, "MuJoCo takes the larger"),
        ("Ant-v5", {"friction": 0.5}, "MuJoCo takes the larger"),
        ("Hopper-v5", {"friction": {"torso": 1.05}}, "MuJoCo takes the larger"),  # 0.9, and the floor has 1
    ],
)
def test_what_has_no_effect_is_refused(robot: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        edited(robot, **changes)


def test_what_has_an_effect_is_not_refused() -> None:
    edited("Hopper-v5", friction=0.5)  # its foot has 2, the floor 1
    edited("InvertedPendulum-v5", gravity=0.5, damping=2.0)
    edited("Swimmer-v5", density=2.0, armature=2.0)


def test_friction_that_is_refused_really_changes_no_step() -> None:
    """What the rule above claims of HalfCheetah, by the physics itself."""
    places = []
    for friction in (0.4, 0.2, 1.2):
        model = compiled("HalfCheetah-v5")
        model.geom_friction[model.geom_bodyid > 0, 0] = friction
        data = mujoco.MjData(model)
        data.qvel[0] = 3
        mujoco.mj_step(model, data, 200)
        places.append(data.qpos[0])
    assert places[0] == places[1] != places[2]


def test_the_weight_of_what_stands_fixed_is_no_weight() -> None:
    xml = """<mujoco><worldbody><body name="base"><geom size=".1"/><body name="arm"><joint name="j"/>
        <geom size=".1" pos="0 0 1"/></body></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
    apply(Dynamics(density=2.0), mujoco.MjModel.from_xml_string(xml))
    with pytest.raises(UserError, match="density is 0"):
        apply(Dynamics(density={"base": 2.0}), mujoco.MjModel.from_xml_string(xml))


def test_only_the_actuated_tree_is_the_robot() -> None:
    """A loose ball and a fixed wall keep their mass and friction."""
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody>
          <geom name="floor" type="plane" size="1 1 1"/>
          <body name="arm"><joint name="j" type="hinge"/><geom size=".1"/>
            <body name="hand" pos="1 0 0"><geom size=".1"/></body></body>
          <body name="ball" pos="3 0 0"><freejoint/><geom size=".1"/></body>
          <body name="wall" pos="5 0 0"><geom size=".1"/></body>
        </worldbody><actuator><motor joint="j"/></actuator></mujoco>""")
    mass, friction = model.body_mass.copy(), model.geom_friction.copy()
    apply(Dynamics(density=2, friction=3), model)
    assert (model.body_mass[1:] / mass[1:]).tolist() == [2, 2, 1, 1]
    assert (model.geom_friction / friction)[:, 0].tolist() == pytest.approx([1, 3, 3, 1, 1], rel=1e-15)


def test_gymnasium_itself_ships_these_models() -> None:
    # The comparisons above are between our models; this ties `compiled` to what gym.make gives.
    for robot in ROBOTS:
        assert changed(gym.make(robot).unwrapped.model, compiled(robot)) == set()  # type: ignore[attr-defined]
