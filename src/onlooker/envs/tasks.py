"""What Gymnasium's four locomotion environments compute around the physics, for N robots at once.

Each task reads its settings off a real Gymnasium environment, so every keyword of `gym.make` works here too. The
arithmetic keeps Gymnasium's order of operations; a test holds the two equal.

A *row* is what a task looks at after a control step: positions, velocities and, for Ant, the torso's place and the
contact forces. `watch` names the arrays inside an MjData that make a row; the pool copies them into rows [N, R].
"""

from typing import Any

import numpy as np
from gymnasium.envs.mujoco.ant_v5 import AntEnv
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv
from gymnasium.envs.mujoco.hopper_v5 import HopperEnv
from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

from onlooker.envs.engine import mujoco


class HalfCheetah:
    """Runs in the plane, never falls. Also what the other three share."""

    hidden_positions = 1  # x tells how far it got, which is no part of the observation
    feels_forces = False  # contact forces cost an extra pass after each control step

    def __init__(self, env: Any) -> None:
        self.model: mujoco.MjModel = env.model
        self.frame_skip: int = env.frame_skip
        self.nq, self.nv, self.dt = env.model.nq, env.model.nv, env.dt
        self.init_qpos, self.init_qvel = env.init_qpos, env.init_qvel
        self.forward_weight, self.control_weight = env._forward_reward_weight, env._ctrl_cost_weight
        self.noise = env._reset_noise_scale
        self.first_shown = self.hidden_positions if env._exclude_current_positions_from_observation else 0

    def watch(self, data: mujoco.MjData) -> list[np.ndarray]:
        """The arrays inside `data` that make its row."""
        return [data.qpos, data.qvel]

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A random first (qpos, qvel)."""
        qpos = self.init_qpos + rng.uniform(-self.noise, self.noise, self.nq)
        return qpos, self.init_qvel + self.noise * rng.standard_normal(self.nv)

    def observe(self, rows: np.ndarray) -> np.ndarray:
        """Observations [N, D] of rows [N, R]."""
        return rows[:, self.first_shown :]

    def judge(self, before: np.ndarray, after: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards [N] of a control step, and whether it ended the episode for good [N]."""
        return self._forward(before, after) - self._control_cost(action), np.zeros(len(after), bool)

    def _forward(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return self.forward_weight * ((after[:, 0] - before[:, 0]) / self.dt)

    def _control_cost(self, action: np.ndarray) -> np.ndarray:
        return self.control_weight * np.square(action).sum(axis=-1)


class Walker2d(HalfCheetah):
    """Walks in the plane; falls when its torso is too low, too high or too tilted."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.healthy_reward, self.ends_when_unhealthy = env._healthy_reward, env._terminate_when_unhealthy
        self.z_range, self.angle_range = env._healthy_z_range, env._healthy_angle_range

    def start(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A random first (qpos, qvel)."""
        qpos = self.init_qpos + rng.uniform(-self.noise, self.noise, self.nq)
        return qpos, self.init_qvel + rng.uniform(-self.noise, self.noise, self.nv)

    def observe(self, rows: np.ndarray) -> np.ndarray:
        """Observations [N, D]: velocities are clipped to +-10."""
        obs = rows[:, self.first_shown :].copy()
        speeds = obs[:, -self.nv :]
        np.clip(speeds, -10, 10, out=speeds)
        return obs

    def healthy(self, rows: np.ndarray) -> np.ndarray:
        """Whether the robot stands, [N]."""
        return _inside(rows[:, 1], self.z_range) & _inside(rows[:, 2], self.angle_range)

    def judge(self, before: np.ndarray, after: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards [N] of a control step, and whether the robot fell [N]."""
        healthy = self.healthy(after)
        reward = self._forward(before, after) + healthy * self.healthy_reward - self._control_cost(action)
        return reward, ~healthy & self.ends_when_unhealthy


class Hopper(Walker2d):
    """Hops in the plane; as Walker2d, and no number of its state may leave a range."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.state_range = env._healthy_state_range

    def healthy(self, rows: np.ndarray) -> np.ndarray:
        """Whether the robot stands, [N]."""
        return super().healthy(rows) & _inside(rows[:, 2:], self.state_range).all(axis=1)


class Ant(HalfCheetah):
    """Walks in space; feels the contact forces on its bodies; falls when its torso is too low or too high."""

    hidden_positions = 2
    feels_forces = True

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.healthy_reward, self.ends_when_unhealthy = env._healthy_reward, env._terminate_when_unhealthy
        self.z_range = env._healthy_z_range
        self.contact_weight, self.force_range = env._contact_cost_weight, env._contact_force_range
        self.torso = env.data.body(env._main_body).id
        self.shows_forces = env._include_cfrc_ext_in_observation
        self.forces_at = self.nq + self.nv + 3  # a row: qpos, qvel, torso's xyz, forces of all bodies

    def watch(self, data: mujoco.MjData) -> list[np.ndarray]:
        """The arrays inside `data` that make its row."""
        return [data.qpos, data.qvel, data.xpos[self.torso], data.cfrc_ext.reshape(-1)]

    def observe(self, rows: np.ndarray) -> np.ndarray:
        """Observations [N, D]: positions, velocities and (by default) clipped contact forces but the world's."""
        motion = rows[:, self.first_shown : self.nq + self.nv]
        return np.concatenate([motion, self._forces(rows)[:, 6:]], axis=1) if self.shows_forces else motion

    def judge(self, before: np.ndarray, after: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rewards [N] of a control step, and whether the robot fell [N]."""
        place = self.nq + self.nv
        forward = (after[:, place] - before[:, place]) / self.dt * self.forward_weight
        healthy = self._healthy(after)
        contact_cost = self.contact_weight * np.square(self._forces(after)).sum(axis=-1)
        reward = forward + healthy * self.healthy_reward - (self._control_cost(action) + contact_cost)
        return reward, ~healthy & self.ends_when_unhealthy

    def _healthy(self, rows: np.ndarray) -> np.ndarray:
        z, (lowest, highest) = rows[:, 2], self.z_range
        return np.isfinite(rows[:, : self.nq + self.nv]).all(axis=1) & (lowest <= z) & (z <= highest)

    def _forces(self, rows: np.ndarray) -> np.ndarray:
        return np.clip(rows[:, self.forces_at :], *self.force_range)


def _inside(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    return (bounds[0] < values) & (values < bounds[1])


TASKS: dict[type, type[HalfCheetah]] = {
    HalfCheetahEnv: HalfCheetah,
    HopperEnv: Hopper,
    Walker2dEnv: Walker2d,
    AntEnv: Ant,
}
"""Gymnasium's class -> the same task for many robots at once. Any other environment runs on Gymnasium itself."""
