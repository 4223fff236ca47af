"""A policy as a function: `policy(obs)` is what to do at an observation, or at each of many."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.policies.acting import HostPolicy
from onlooker.policies.actor import Actor, PolicyOptions, Stats


class Acts:
    """What can act: knows how many numbers it sees and gives, and where it lives."""

    world: World
    obs_size: int
    action_size: int
    meta: dict[str, Any]

    def means(self, obs: np.ndarray) -> np.ndarray:
        """Its best actions [N, A] at observations [N, D]; both are float32."""
        raise NotImplementedError

    def samples(self, obs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions [N, A] as it draws them while it learns."""
        raise UserError(f"a policy of {self.world.env} from another program has no noise to draw from")

    def __call__(
        self, obs: Any, deterministic: bool = True, rng: np.random.Generator | int | None = None
    ) -> np.ndarray:
        """The action [A] at an observation [D], or actions [N, A] at [N, D], as the environment takes them.

        `deterministic=False` draws from the policy's Gaussian, with `rng` or its seed.
        """
        rows = np.asarray(obs, np.float32)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.obs_size:
            raise UserError(f"the policy sees observations of {self.obs_size} numbers, not of shape {rows.shape}")
        batch = np.atleast_2d(rows)
        action = self.means(batch) if deterministic else self.samples(batch, np.random.default_rng(rng))
        return action.reshape(*rows.shape[:-1], self.action_size)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
    ) -> tuple[np.ndarray, Any]:
        """The same in the words of Stable-Baselines3, so that its `evaluate_policy` and others can use it."""
        return self(observation, deterministic), state


@dataclass(frozen=True)
class Policy(Acts):
    """An actor, its options, the world it was trained in, where it comes from, and the bounds of its actions."""

    actor: Actor
    options: PolicyOptions
    world: World
    meta: dict[str, Any]
    bounds: tuple[np.ndarray, np.ndarray] | None = None  # lowest and highest [A]; files of 0.1.0 don't say

    @property
    def obs_size(self) -> int:  # type: ignore[override]
        """How many numbers an observation has."""
        return self.actor.stats.mean.shape[0]

    @property
    def action_size(self) -> int:  # type: ignore[override]
        """How many numbers an action has."""
        return self.actor.log_std.shape[0]

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest action [A]: as the file says, or else as its environment does."""
        if self.bounds is not None:
            return self.bounds
        return limits_of(self.world)

    @cached_property
    def host(self) -> HostPolicy:
        """The network and the hands, in numpy and in double precision: rounded to single at the end, an action is the
        same number whatever library multiplied the matrices, and so is the episode that follows."""
        layers = [{name: _double(array) for name, array in layer.items()} for layer in self.actor.net]
        stats = Stats(*map(_double, self.actor.stats))
        return HostPolicy(Actor(layers, _double(self.actor.log_std), stats), self.options, *map(_double, self.limits))

    def means(self, obs: np.ndarray) -> np.ndarray:
        """The mean of the Gaussian, within the bounds."""
        return self.host.action(self.host.draw(_double(obs), None)).astype(np.float32)

    def samples(self, obs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of the Gaussian, within the bounds."""
        noise = rng.standard_normal((len(obs), self.action_size))
        return self.host.action(self.host.draw(_double(obs), noise)).astype(np.float32)


def limits_of(world: World) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest action [A] that the environment of a world takes."""
    from onlooker.envs.make import make_env  # not before: a policy that knows its bounds acts without MuJoCo

    env = make_env(world.env, world.env_kwargs, None, world.max_episode_steps)
    space: Any = env.action_space
    env.close()
    return space.low.reshape(-1), space.high.reshape(-1)


def _double(array: Any) -> np.ndarray:
    return np.asarray(array, np.float64)
