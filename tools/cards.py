"""docs/cards.md: a card for each shipped expert and demonstration, from what the files say of themselves."""

from pathlib import Path

import numpy as np

import onlooker
from onlooker.demos import shipped
from onlooker.policies import policy_file

PAGE = Path(__file__).parent.parent / "docs" / "cards.md"
HEAD = """\
# Cards of what ships

Made by `python tools/cards.py` from the files' own notes; a test holds the page to them. How the experts were made is
told in [the shipped experts](experts.md). All of it is made by this package, in simulation, with no data of anybody
else's, and is under the MIT licence of the package. Robots and physics are Gymnasium's MuJoCo v5 as shipped. Made for:
imitation learning, and comparisons of methods. Not for: a real robot; nothing here was ever on one.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for robot in shipped.ROBOTS for part in (expert_card(robot), demo_cards(robot)))])


def expert_card(robot: str) -> str:
    """How a policy was made, and how good it is."""
    policy = policy_file.load(shipped.expert_path(robot))
    about = policy.meta
    hidden = " and ".join(map(str, policy.options.hidden))
    rows = {
        "what": f"a Gaussian policy, {policy.obs_size} numbers in, {policy.action_size} out, hidden layers of {hidden}",
        "robot": policy.world.env,
        "made by": f"{about['method']}, seed {about['seed']}, {about['steps']:,} steps, onlooker {about['version']}, "
        f"{about['date']}; settings in grids/experts.toml",
        "return while it learned": f"{about['return']:,.0f} over {about['episodes']} episodes, with its noise",
        "return": f"{about['eval_return_mean']:,.0f} +- {about['eval_return_std']:,.0f}, "
        f"{about['eval_episodes']} deterministic episodes of {about['eval_length_mean']:,.0f} steps on average",
        "use": f'`onlooker.load("{robot}")`, `onlooker evaluate --expert {robot}`',
    }
    return f"## {robot}: the expert\n\n{_table(rows)}"


def demo_cards(robot: str) -> str:
    """What was recorded of it."""
    lines = ["| name | what | episodes | return | recorded |", "|---|---|---|---|---|"]
    for name in (robot, f"{robot}-actions", f"{robot}-10"):
        demo = onlooker.demos.load(name)
        what = f"{len(demo.obs):,} states of {demo.obs.shape[1]} numbers"
        what += ", no actions" if demo.action is None else f", {demo.action.shape[1]} actions"
        returns = np.array(demo.meta["returns"])
        spread = f"{returns.mean():,.0f}" + (f" +- {returns.std():,.0f}" if len(returns) > 1 else "")
        recorded = f"{demo.meta['date']}, {demo.meta['recorded_by']}"
        lines.append(f"| `{name}` | {what} | {len(returns)} | {spread} | {recorded} |")
    return f"### {robot}: demonstrations\n\n" + "\n".join(lines) + "\n"


def _table(rows: dict[str, str]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
