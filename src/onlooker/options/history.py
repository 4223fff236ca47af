"""What options were called before, and what the lack of a newer one means: old run folders and results still load."""

from typing import Any

from onlooker.errors import UserError

# By their path in config.json. The new name lies in the same section.
RENAMED = {"options.ppo.trace": "options.ppo.gae_lambda"}

# Options that came later, and the value with which a run does what runs did before.
NEUTRAL: dict[str, Any] = {
    "options.policy.mean_init": 1.0,
    "options.policy.share_noise": False,
    "options.ppo.log_std_within": 1.0,
    "options.ppo.normalize_values": False,
    "options.ppo.target_kl": None,
    "options.ppo.fall": 0.0,
    "options.discriminator.normalize": "learner",
    "options.critic.reward": 0.0,
    "options.critic.positive_newest": False,
    "options.elite.living": 0.0,
    "options.elite.weigh": 0.0,
    "options.elite.level": "zero",
    "options.elite.blame": 0.0,
    "options.calm": False,
}


def refuse_old_flags(argv: list[str]) -> None:
    """Name today's flag to whoever types one of before."""
    for old, new in RENAMED.items():
        before, now = (f"--{path.removeprefix('options.').replace('_', '-')}" for path in (old, new))
        if any(word.partition("=")[0] == before for word in argv):
            raise UserError(f"{before} is called {now} now")
