"""Direct transfer: the expert's own policy in another world, untrained. What imitation must be better than."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax

from onlooker.errors import UserError
from onlooker.methods.compose import Problem
from onlooker.methods.watching import Needs
from onlooker.policies.actor import Actor
from onlooker.types import Array, Method, Metrics, Rollout


class Unchanged(NamedTuple):
    """The expert, as it came."""

    actor: Actor


@dataclass(frozen=True)
class TransferMethod:
    """The expert's policy as it is, in other physics. Nothing is learned; a small budget will do."""

    expert: str | None = None
    """A shipped expert's name (halfcheetah, hopper, walker2d, ant) or a policy file; by default the robot's own."""

    needs: ClassVar[Needs] = "policy"
    best_num_envs: ClassVar[int] = 8

    def build(self, problem: Problem, expert: Any) -> Method:
        """The expert (a policy, as its file holds it) for an environment of these sizes."""
        sizes = expert.actor.stats.mean.shape[0], expert.actor.log_std.shape[0]
        if sizes != (problem.obs_size, problem.action_size):
            raise UserError(
                f"the expert knows {sizes[0]} numbers a state and {sizes[1]} an action, "
                f"the environment has {problem.obs_size} and {problem.action_size}"
            )

        def init(key: jax.Array) -> Unchanged:
            return Unchanged(expert.actor)

        def keep(
            state: Unchanged, rollout: Rollout, iteration: Array, key: jax.Array
        ) -> tuple[dict[str, Any], Metrics]:
            return {}, {}

        return Method(init, ((keep,),), lambda state: state.actor, expert.options)
