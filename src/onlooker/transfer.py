"""Direct transfer: the expert's own policy in another world, untrained. What imitation must be better than."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax

from onlooker.demos import Demos, shipped
from onlooker.errors import UserError
from onlooker.learning.networks import Actor
from onlooker.methods import Problem
from onlooker.runs import policy_file
from onlooker.types import Array, Method, Metrics, Rollout


class Unchanged(NamedTuple):
    """The expert, as it came."""

    actor: Actor


@dataclass(frozen=True)
class TransferMethod:
    """The expert's policy as it is, in other physics. Nothing is learned; a small budget will do."""

    expert: str = ""
    """A shipped expert's name (halfcheetah, hopper, walker2d, ant) or a policy file."""

    needs: ClassVar[str] = "nothing"
    best_num_envs: ClassVar[int] = 8

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The expert for an environment of these sizes."""
        if not self.expert:
            raise UserError(f"transfer needs --expert, a policy file or one of {', '.join(shipped.ROBOTS)}")
        path = Path(self.expert)
        policy = policy_file.load(path if path.exists() else shipped.expert_path(self.expert))
        sizes = policy.actor.stats.mean.shape[0], policy.actor.log_std.shape[0]
        if sizes != (problem.obs_size, problem.action_size):
            raise UserError(
                f"the expert {self.expert} knows {sizes[0]} numbers a state and {sizes[1]} an action, "
                f"the environment has {problem.obs_size} and {problem.action_size}"
            )

        def init(key: jax.Array) -> Unchanged:
            return Unchanged(policy.actor)

        def keep(
            state: Unchanged, rollout: Rollout, iteration: Array, key: jax.Array
        ) -> tuple[dict[str, Any], Metrics]:
            return {}, {}

        return Method(init, ((keep,),), lambda state: state.actor, policy.options)
