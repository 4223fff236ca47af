"""How much of what can be had in a world imitation comes to: beside PPO on the true reward."""

from onlooker.report.statistics import mean_and_spread
from onlooker.report.tables import Column, Table
from onlooker.report.variants import Group, settings
from onlooker.report.world_names import robot

ENOUGH = 0.9  # of the oracle
ORACLE = "ppo"
TRANSFER = "transfer"  # imitates nothing


def beside_oracle(found: list[Group]) -> Table:
    """For each setting with an oracle, and each method that watches: the share of the oracle's return."""
    columns = [Column("dynamics"), Column("robot"), Column("method"), Column("return", "return")]
    columns += [Column("oracle", "return"), Column("oracle's steps", "steps"), Column("share", "share"), Column("so")]
    rows = []
    for (env, dynamics), members in settings([group for group in found if len(group.values("return"))]).items():
        oracles = [group for group in members if group.method == ORACLE and not group.variant]
        for best in oracles:
            most, _ = mean_and_spread(best.values("return"))
            for group in (group for group in members if group.method not in (ORACLE, TRANSFER)):
                mean, _ = mean_and_spread(group.values("return"))
                part = mean / most if most > 0 else None
                rows.append([dynamics, robot(env), group.label, mean, most, best.steps, part, _told(part)])
    note = f"PPO on the true reward, with the steps it was given. Near it: at least {ENOUGH:.0%} of its mean."
    return Table("oracle", "Beside the oracle", columns, rows, note)


def _told(part: float | None) -> str:
    if part is None:
        return ""
    return "ahead of it" if part > 1 else "near it" if part >= ENOUGH else ""
