"""Named sets of settings: what the paper writes, and what the authors' released code does.

The defaults in the option classes are what measured best; docs/methods/i2l.md says where they depart, and why.
"""

from typing import Any

from onlooker.errors import UserError, nearest

# The authors' released code: one environment, and PPO without any of the later refinements.
_RELEASE: dict[str, Any] = {
    "num_envs": 1,
    "calm": False,
    "policy": {"hidden": (64, 64), "mean_init": 1.0, "log_std_init": 0.0, "share_noise": False},
    "ppo": {
        "epochs": 5,
        "minibatches": 32,
        "learning_rate": 1e-4,
        "anneal": False,
        "discount": 0.99,
        "log_std_end": None,
        "log_std_within": 1.0,
        "normalize_advantages": False,
        "value_clip": 0.2,
        "value_coefficient": 0.5,
        "normalize_values": False,
        "target_kl": None,
        "fall": 0.0,
        "time_limit": "ignore",
    },
    "critic": {
        "lipschitz": "clamp",
        "clamp": 0.05,
        "steps": 20,
        "batch": 500,
        "warm_up": True,
        "positive_penalty": 2.0,
        "positive_newest": False,
        "reward": 0.0,
    },
    "elite": {"capacity": 5, "order": "sum-and-length", "living": 0.0, "rescore_every": 5, "weigh": 0.0, "blame": 0.0},
    "discriminator": {
        "hidden": (64, 64),
        "learning_rate": 3e-4,
        "reward": "f",
        "density": "gaussian",
        "per_action": True,
        "log_z": True,
        "positive_penalty": 2.0,
        "normalize": "both",
        "score_first": True,
    },
}

# The paper's text; where it is silent, the release's value. Its reward is log D - log(1 - D) = f - log pi, and pi is
# the density of the action itself: with that of the draw before the tanh, the policy's deviation grows without bound.
_PAPER: dict[str, Any] = _RELEASE | {
    "policy": _RELEASE["policy"] | {"hidden": (64, 64, 64)},
    "elite": _RELEASE["elite"] | {"order": "mean", "rescore_every": 1},
    "discriminator": _RELEASE["discriminator"]
    | {
        "hidden": (64, 64, 64),
        "reward": "f-log-pi",
        "density": "squashed",
        "per_action": False,
        "log_z": False,
        "positive_penalty": 0.0,
        "score_first": False,
    },
}

PRESETS: dict[str, dict[str, dict[str, Any]]] = {"i2l": {"paper": _PAPER, "release": _RELEASE}}
"""method -> preset -> settings, by their command-line names."""


def preset_settings(method: str, preset: str | None, env: str) -> dict[str, Any]:
    """The settings of a preset; none without one. In the release, Ant's policy starts with less noise."""
    if preset is None:
        return {}
    known = PRESETS.get(method, {})
    if preset not in known:
        raise UserError(f"{method} has no preset {preset!r}{nearest(preset, known)}")
    settings = dict(known[preset])
    if env.startswith("Ant"):
        settings["policy"] = settings["policy"] | {"log_std_init": -1.0}
    return settings


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` on top of `under`, part by part."""
    both = {
        name: merged(under[name], over[name])
        for name in under.keys() & over.keys()
        if isinstance(under[name], dict) and isinstance(over[name], dict)
    }
    return under | over | both
