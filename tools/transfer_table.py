"""The paper's figure 1b for all robots: the expert at home and after direct transfer, as a Markdown table.

    python tools/transfer_table.py > table.md

Each cell is what `onlooker evaluate --expert ROBOT --dynamics NAME` prints: mean and deviation of the return over 10
deterministic episodes from fixed seeds, and the mean length.
"""

from onlooker.demos import shipped
from onlooker.envs.world import PRESETS, Factors
from onlooker.evaluation import by_chance, by_policy, by_rest, evaluate, summarize
from onlooker.policies import policy_file


def main() -> None:
    """Print the table."""
    print("| robot | acts | " + " | ".join(PRESETS) + " |")
    print("|---|---|" + "---|" * len(PRESETS))
    for robot in shipped.ROBOTS:
        policy = policy_file.load(shipped.expert_path(robot))
        for name, behave in (("expert", by_policy(policy)), ("random", by_chance), ("not at all", by_rest)):
            cells = []
            for dynamics in PRESETS:
                result = summarize(evaluate(policy.world.under(dynamics, Factors()), behave))
                cells.append(
                    f"{result['return_mean']:,.0f} ± {result['return_std']:,.0f} ({result['length_mean']:.0f})"
                )
            print(f"| {policy.world.env} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
