"""BC: behavioural cloning of recorded actions."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from onlooker.demos import Demos
from onlooker.learning import cloning, networks, normalize
from onlooker.learning.cloning import CloningOptions
from onlooker.methods.compose import Problem
from onlooker.methods.watching import Needs, Watching, shown, whole
from onlooker.policies.actor import Actor, PolicyOptions
from onlooker.types import Array, Method, Metrics, Rollout


class Cloned(NamedTuple):
    """What cloning learns."""

    actor: Actor
    opt: optax.OptState


@dataclass(frozen=True)
class BCMethod(Watching):
    """BC: behavioural cloning of recorded actions, blind to what comes of them. Rollouts are for reporting only."""

    policy: PolicyOptions = field(default_factory=PolicyOptions)
    cloning: CloningOptions = field(default_factory=CloningOptions)

    needs: ClassVar[Needs] = "actions"

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and the expert's states and actions."""
        assert demos is not None
        recorded = whole(demos.obs.shape[1], problem.obs_size)
        rows = jax.tree.map(jnp.asarray, shown(demos, self.needs, recorded, problem, self.policy.squash))

        def init(key: jax.Array) -> Cloned:
            actor = networks.init_actor(key, problem.obs_size, problem.action_size, self.policy)
            actor = actor._replace(stats=normalize.update(actor.stats, rows.obs))
            return Cloned(actor, cloning.init(actor, self.cloning))

        def update(state: Cloned, rollout: Rollout, iteration: Array, key: jax.Array) -> tuple[dict[str, Any], Metrics]:
            actor, opt, metrics = cloning.clone(state.actor, state.opt, rows, key, self.policy, self.cloning)
            return {"actor": actor, "opt": opt}, metrics

        return Method(init, ((update,),), lambda state: state.actor, self.policy)
