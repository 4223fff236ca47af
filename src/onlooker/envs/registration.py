"""Worlds for everybody: gym.make("onlooker/Hopper-v5", dynamics="low-gravity", gravity=0.4)."""

from typing import Any

import gymnasium as gym

NAMESPACE = "onlooker"
IDS = (
    "Ant-v5",
    "HalfCheetah-v5",
    "Hopper-v5",
    "Humanoid-v5",
    "HumanoidStandup-v5",
    "InvertedDoublePendulum-v5",
    "InvertedPendulum-v5",
    "Pusher-v5",
    "Reacher-v5",
    "Swimmer-v5",
    "Walker2d-v5",
)


def register() -> None:
    """Tell Gymnasium of the robots, each with the time limit of its own."""
    for name in IDS:
        if f"{NAMESPACE}/{name}" not in gym.registry:
            gym.register(
                f"{NAMESPACE}/{name}",
                entry_point="onlooker.envs.registration:make",
                max_episode_steps=gym.spec(name).max_episode_steps,
                kwargs={"robot": name},
            )


def make(robot: str, render_mode: str | None = None, dynamics: str = "none", **settings: Any) -> Any:
    """A robot of Gymnasium's in a changed world. `settings` are factors (gravity=0.5, density={"torso": 2}, delay=2)
    and the robot's own keywords (frame_skip=5)."""
    from onlooker.envs.delay import Delayed  # not before: this module is loaded as soon as Gymnasium is
    from onlooker.envs.make import make_env
    from onlooker.envs.world import Factors, resolve

    factors = {name: settings.pop(name) for name in tuple(settings) if name in Factors.__dataclass_fields__}
    changed = resolve(dynamics, **factors)
    made = make_env(robot, settings, changed.of_model, gym.spec(robot).max_episode_steps, render_mode)
    bare: gym.Env = made.unwrapped  # gym.make puts its own time limit around it
    return Delayed(bare, changed.delay) if changed.delay else bare
