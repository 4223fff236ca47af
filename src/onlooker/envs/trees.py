"""What of a model is the robot: the trees of bodies that actuators move, and the names of parts."""

from onlooker.envs.engine import mujoco


def actuated_roots(model: mujoco.MjModel) -> list[int]:
    """The root bodies of all trees that an actuator moves."""
    bodies: set[int] = set()
    kinds = mujoco.mjtTrn
    for kind, (target, other) in zip(model.actuator_trntype, model.actuator_trnid):
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            bodies.add(model.jnt_bodyid[target])
        elif kind == int(kinds.mjTRN_TENDON):
            bodies |= _tendon_bodies(model, target)
        elif kind == int(kinds.mjTRN_SITE):
            bodies.add(model.site_bodyid[target])
        elif kind == int(kinds.mjTRN_SLIDERCRANK):
            bodies |= {model.site_bodyid[target], model.site_bodyid[other]}
        elif kind == int(kinds.mjTRN_BODY):
            bodies.add(target)
    return sorted({int(model.body_rootid[body]) for body in bodies} - {0})


def _tendon_bodies(model: mujoco.MjModel, tendon: int) -> set[int]:
    start = model.tendon_adr[tendon]
    found = set()
    for kind, what in zip(model.wrap_type[start:], model.wrap_objid[start : start + model.tendon_num[tendon]]):
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            found.add(model.jnt_bodyid[what])
        elif kind == int(mujoco.mjtWrap.mjWRAP_SITE):
            found.add(model.site_bodyid[what])
    return found


def name_of(model: mujoco.MjModel, kind: mujoco.mjtObj, index: int, usual: str) -> str:
    """The name of a part, or else one by its number."""
    return mujoco.mj_id2name(model, kind, index) or f"{usual}{index}"
