"""BCO(alpha): behavioural cloning of actions that are inferred from the imitator's own experience."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from onlooker.demos import Demos
from onlooker.learning import cloning, networks, normalize
from onlooker.learning.cloning import CloningOptions
from onlooker.learning.inverse import InverseOptions, InverseState, inverse
from onlooker.methods.compose import Problem
from onlooker.methods.watching import Needs, Watching, shown, whole
from onlooker.options.bounds import Times
from onlooker.policies.actor import Actor, PolicyOptions
from onlooker.types import Array, Method, Metrics, Rollout


class Inferring(NamedTuple):
    """What it learns: the policy, and which action led from state to state."""

    actor: Actor
    opt: optax.OptState
    inverse: InverseState


@dataclass(frozen=True)
class BCOMethod(Watching):
    """BCO(alpha): learn from your own experience which action leads from state to state; clone the actions inferred."""

    policy: PolicyOptions = field(default_factory=PolicyOptions)
    inverse: InverseOptions = field(default_factory=InverseOptions)
    cloning: CloningOptions = field(default_factory=CloningOptions)
    explore: Times = 10
    """Iterations of random actions before the first cloning; they count as experience like any other."""

    needs: ClassVar[Needs] = "state pairs"

    def build(self, problem: Problem, demos: Demos | None = None) -> Method:
        """The method for an environment of these sizes and the expert's successive states."""
        assert demos is not None
        recorded = whole(demos.obs.shape[1], problem.obs_size)
        rows = jax.tree.map(jnp.asarray, shown(demos, self.needs, recorded, problem, self.policy.squash))
        model = inverse(problem.obs_size, problem.action_size, self.policy.squash, self.inverse)

        def init(key: jax.Array) -> Inferring:
            actor_key, model_key = jax.random.split(key)
            actor = networks.init_actor(actor_key, problem.obs_size, problem.action_size, self.policy)
            actor = actor._replace(stats=normalize.update(actor.stats, rows.obs))
            return Inferring(actor, cloning.init(actor, self.cloning), model.init(model_key))

        def update(
            state: Inferring, rollout: Rollout, iteration: Array, key: jax.Array
        ) -> tuple[dict[str, Any], Metrics]:
            learn_key, clone_key = jax.random.split(key)
            knowing, about_model = model.learn(state.inverse, rollout.steps, learn_key)
            labelled = rows._replace(action=model.infer(knowing, rows.obs, rows.next_obs))
            actor = state.actor._replace(stats=normalize.update(state.actor.stats, rollout.steps.obs))
            actor, opt, about_clone = cloning.clone(actor, state.opt, labelled, clone_key, self.policy, self.cloning)
            exploring = iteration + 1 < self.explore
            actor, opt = jax.tree.map(lambda old, new: jnp.where(exploring, old, new), state[:2], (actor, opt))
            return {"actor": actor, "opt": opt, "inverse": knowing}, about_model | about_clone

        return Method(init, ((update,),), lambda state: state.actor, self.policy)
