"""Gymnasium's robots, one description each: what `gym.make` computes, for many at once.

Each reads its settings off a real Gymnasium environment, so every keyword of `gym.make` works here too. The arithmetic
keeps Gymnasium's order of operations; a test holds the two equal.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.humanoid_v5 import HumanoidEnv
from gymnasium.envs.mujoco.humanoidstandup_v5 import HumanoidStandupEnv
from gymnasium.envs.mujoco.inverted_double_pendulum_v5 import InvertedDoublePendulumEnv
from gymnasium.envs.mujoco.inverted_pendulum_v5 import InvertedPendulumEnv
from gymnasium.envs.mujoco.pusher_v5 import PusherEnv
from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv
from gymnasium.envs.mujoco.swimmer_v5 import SwimmerEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

from onlooker.envs.robot_env import RobotEnv, robot_task
from onlooker.envs.tasks import (
    Numbers,
    Row,
    Task,
    all_inside,
    around,
    both,
    effort,
    followed_by,
    forward,
    inside,
    motion,
)


def _hidden(env: Any, positions: int) -> int:
    """Where it is in the plane is no part of the observation, unless asked for."""
    return positions if env._exclude_current_positions_from_observation else 0


def half_cheetah(env: Any) -> Task:
    """Runs in the plane, never falls."""
    return _runner(env, hidden=1, normal_speeds=True)


def swimmer(env: Any) -> Task:
    """Swims in the plane, never falls."""
    return _runner(env, hidden=2, normal_speeds=False)


def _runner(env: Any, hidden: int, normal_speeds: bool) -> Task:
    hidden = _hidden(env, hidden)
    speed, cost = forward(env._forward_reward_weight, env.dt), effort(env._ctrl_cost_weight)
    return Task(
        env.model,
        env.frame_skip,
        Row(env.model, "qpos", "qvel"),
        around(env, normal_speeds),
        motion(env.model, hidden),
        lambda before, after, action, stands: speed(before, after) - cost(action),
        hidden=hidden,
    )


def walker(env: Any) -> Task:
    """Walks in the plane; falls when its torso is too low, too high or too tilted."""
    return _walker(env, both(inside(1, env._healthy_z_range), inside(2, env._healthy_angle_range)))


def hopper(env: Any) -> Task:
    """Hops in the plane; as the walker, and no number of its state may leave a range."""
    upright = inside(1, env._healthy_z_range), inside(2, env._healthy_angle_range)
    return _walker(env, both(*upright, all_inside(slice(2, None), env._healthy_state_range)))


def _walker(env: Any, stands: Numbers) -> Task:
    hidden, bonus = _hidden(env, 1), env._healthy_reward
    speed, cost = forward(env._forward_reward_weight, env.dt), effort(env._ctrl_cost_weight)
    return Task(
        env.model,
        env.frame_skip,
        Row(env.model, "qpos", "qvel"),
        around(env),
        motion(env.model, hidden, clipped=True),
        lambda before, after, action, stands: speed(before, after) + stands * bonus - cost(action),
        stands,
        env._terminate_when_unhealthy,
        hidden=hidden,
    )


def ant(env: Any) -> Task:
    """Walks in space; feels the contact forces on its bodies; falls when its torso is too low or too high."""
    torso = ("xpos", env.data.body(env._main_body).id)
    row = Row(env.model, "qpos", "qvel", torso, "cfrc_ext")
    hidden, bonus, weight = _hidden(env, 2), env._healthy_reward, env._contact_cost_weight
    speed = forward(env._forward_reward_weight, env.dt, row[torso].start)
    cost = effort(env._ctrl_cost_weight)
    state, (lowest, highest) = slice(0, row["qvel"].stop), env._healthy_z_range

    def forces(rows: np.ndarray) -> np.ndarray:
        return np.clip(rows[:, row["cfrc_ext"]], *env._contact_force_range)

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        contact = weight * np.square(forces(after)).sum(axis=-1)
        return speed(before, after) + stands * bonus - (cost(action) + contact)

    felt = [lambda rows: forces(rows)[:, 6:]] if env._include_cfrc_ext_in_observation else []  # but the world's
    return Task(
        env.model,
        env.frame_skip,
        row,
        around(env, normal_speeds=True),
        followed_by(motion(env.model, hidden), *felt),
        reward,
        lambda rows: np.isfinite(rows[:, state]).all(axis=1) & (lowest <= rows[:, 2]) & (rows[:, 2] <= highest),
        env._terminate_when_unhealthy,
        feels_forces=True,
        hidden=hidden,
    )


def _humanoid_row(env: Any) -> Row:
    return Row(env.model, "qpos", "qvel", "cinert", "cvel", "qfrc_actuator", "cfrc_ext", "xipos")


def _humanoid_sight(env: Any, row: Row, hidden: int) -> Numbers:
    """Motion, then inertias, velocities, motor and contact forces, each without the world's (or the root's) own."""

    def part(name: str, skipped: int) -> Numbers:
        columns = slice(row[name].start + skipped, row[name].stop)
        return lambda rows: rows[:, columns]

    chosen = (
        (env._include_cinert_in_observation, part("cinert", 10)),
        (env._include_cvel_in_observation, part("cvel", 6)),
        (env._include_qfrc_actuator_in_observation, part("qfrc_actuator", 6)),
        (env._include_cfrc_ext_in_observation, part("cfrc_ext", 6)),
    )
    return followed_by(motion(env.model, hidden), *(seen for wanted, seen in chosen if wanted is True))


def _impact(row: Row, weight: float, bounds: tuple[float, float]) -> Numbers:
    """What contact forces cost, within bounds."""
    return lambda rows: np.clip(weight * np.square(rows[:, row["cfrc_ext"]]).sum(axis=-1), *bounds)


def humanoid(env: Any) -> Task:
    """Walks in space on two legs; falls when its torso is too low or too high. Its centre of mass counts."""
    row, hidden, bonus = _humanoid_row(env), _hidden(env, 2), env._healthy_reward
    impact = _impact(row, env._contact_cost_weight, env._contact_cost_range)
    cost, weight, mass = effort(env._ctrl_cost_weight), env._forward_reward_weight, env.model.body_mass

    def centre(rows: np.ndarray) -> np.ndarray:
        return np.einsum("b,nb->n", mass, rows[:, row["xipos"]][:, ::3]) / mass.sum()

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        gained = weight * ((centre(after) - centre(before)) / env.dt) + stands * bonus
        return gained - (cost(action.astype(float)) + impact(after))  # of the controls, which are doubles

    return Task(
        env.model,
        env.frame_skip,
        row,
        around(env),
        _humanoid_sight(env, row, hidden),
        reward,
        inside(2, env._healthy_z_range),
        env._terminate_when_unhealthy,
        feels_forces=True,
        hidden=hidden,
    )


def humanoid_standup(env: Any) -> Task:
    """Lies on the floor and is rewarded for height."""
    row, hidden = _humanoid_row(env), _hidden(env, 2)
    cost, impact = effort(env._ctrl_cost_weight), _impact(row, env._impact_cost_weight, env._impact_cost_range)

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        return after[:, 2] / env.model.opt.timestep - cost(action.astype(float)) - impact(after) + 1

    return Task(
        env.model,
        env.frame_skip,
        row,
        around(env),
        _humanoid_sight(env, row, hidden),
        reward,
        feels_forces=True,
        hidden=hidden,
    )


def inverted_pendulum(env: Any) -> Task:
    """A pole on a cart; falls when it is too tilted."""
    return Task(
        env.model,
        env.frame_skip,
        Row(env.model, "qpos", "qvel"),
        around(env),
        motion(env.model, 0),
        lambda before, after, action, stands: stands.astype(float),
        lambda rows: np.isfinite(rows).all(axis=1) & ~(np.abs(rows[:, 1]) > 0.2),
        hidden=0,
    )


def inverted_double_pendulum(env: Any) -> Task:
    """A pole on a pole on a cart; falls when its tip is too low. Angles are seen as sines and cosines."""
    row = Row(env.model, "qpos", "qvel", "qfrc_constraint", ("site_xpos", 0))
    speeds, force, tip = row["qvel"], row["qfrc_constraint"].start, row["site_xpos", 0].start
    angles, bonus = slice(1, env.model.nq), env._healthy_reward

    def observe(rows: np.ndarray) -> np.ndarray:
        parts = [rows[:, :1], np.sin(rows[:, angles]), np.cos(rows[:, angles])]
        return np.concatenate([*parts, np.clip(rows[:, speeds], -10, 10), rows[:, [force]].clip(-10, 10)], axis=1)

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        x, y, (v1, v2) = after[:, tip], after[:, tip + 2], after[:, speeds].T[1:3]
        return bonus * stands - (0.01 * x**2 + (y - 2) ** 2) - (1e-3 * v1**2 + 5e-3 * v2**2)

    start = around(env, normal_speeds=True)
    return Task(env.model, env.frame_skip, row, start, observe, reward, lambda rows: ~(rows[:, tip + 2] <= 1))


def _gap(row: Row, one: tuple[str, int], two: tuple[str, int]) -> Numbers:
    """From a body to another, [N, 3]."""
    return lambda rows: rows[:, row[one]] - rows[:, row[two]]


def reacher(env: Any) -> Task:
    """An arm of two links reaches for a point that lies elsewhere in every episode."""
    tip, target = (("xpos", env.data.body(name).id) for name in ("fingertip", "target"))
    row = Row(env.model, "qpos", "qvel", tip, target)
    gap, nq, speed = _gap(row, tip, target), env.model.nq, row["qvel"].start
    near, cost = env._reward_dist_weight, effort(env._reward_control_weight)

    def start(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        qpos = rng.uniform(-0.1, 0.1, nq) + env.init_qpos
        qpos[-2:] = _drawn(lambda: rng.uniform(-0.2, 0.2, 2), lambda goal: np.linalg.norm(goal) < 0.2)
        qvel = env.init_qvel + rng.uniform(-0.005, 0.005, env.model.nv)
        qvel[-2:] = 0
        return qpos, qvel

    def observe(rows: np.ndarray) -> np.ndarray:
        angles, rest, speeds = rows[:, :2], rows[:, 2:nq], rows[:, speed : speed + 2]
        return np.concatenate([np.cos(angles), np.sin(angles), rest, speeds, gap(rows)[:, :2]], axis=1)

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        return -np.linalg.norm(gap(after), axis=1) * near - cost(action)

    return Task(env.model, env.frame_skip, row, start, observe, reward)


def pusher(env: Any) -> Task:
    """An arm pushes a cylinder, which lies elsewhere in every episode, to a goal."""
    tip, thing, goal = (("xpos", env.data.body(name).id) for name in ("tips_arm", "object", "goal"))
    row = Row(env.model, "qpos", "qvel", tip, thing, goal)
    to_tip, to_goal, speed = _gap(row, thing, tip), _gap(row, thing, goal), row["qvel"].start
    near, far, cost = env._reward_near_weight, env._reward_dist_weight, effort(env._reward_control_weight)

    def start(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        qpos = env.init_qpos.copy()
        qpos[-4:-2] = _drawn(
            lambda: np.concatenate([rng.uniform(-0.3, 0, 1), rng.uniform(-0.2, 0.2, 1)]),
            lambda place: np.linalg.norm(place) > 0.17,
        )
        qpos[-2:] = 0
        qvel = env.init_qvel + rng.uniform(-0.005, 0.005, env.model.nv)
        qvel[-4:] = 0
        return qpos, qvel

    def observe(rows: np.ndarray) -> np.ndarray:
        places = slice(row[tip].start, row[goal].stop)
        return np.concatenate([rows[:, :7], rows[:, speed : speed + 7], rows[:, places]], axis=1)

    def reward(before: np.ndarray, after: np.ndarray, action: np.ndarray, stands: np.ndarray) -> np.ndarray:
        distances = -np.linalg.norm(to_goal(after), axis=1) * far, -np.linalg.norm(to_tip(after), axis=1) * near
        return distances[0] - cost(action) + distances[1]

    return Task(env.model, env.frame_skip, row, start, observe, reward)


def _drawn(draw: Callable[[], np.ndarray], fits: Callable[[np.ndarray], Any]) -> np.ndarray:
    while not fits(place := draw()):
        pass
    return place


TASKS: dict[type, Callable[[Any], Task]] = {
    HalfCheetahEnv: half_cheetah,
    HopperEnv: hopper,
    Walker2dEnv: walker,
    AntEnv: ant,
    HumanoidEnv: humanoid,
    HumanoidStandupEnv: humanoid_standup,
    SwimmerEnv: swimmer,
    InvertedPendulumEnv: inverted_pendulum,
    InvertedDoublePendulumEnv: inverted_double_pendulum,
    ReacherEnv: reacher,
    PusherEnv: pusher,
    RobotEnv: robot_task,
}
"""An environment's class -> the same task for many robots at once. Any other environment runs on Gymnasium itself."""
