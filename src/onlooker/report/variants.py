"""Runs that differ in anything but the seed are never averaged: groups of seeds, and what to call them."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onlooker.report.entry import USABLE, Run
from onlooker.report.world_names import dynamics_order, env_order, natural
from onlooker.runs.layout import completed

METHODS = {
    "i2l": "I2L",
    "gail-s": "GAIL-S",
    "gaifo": "GAIfO",
    "bco": "BCO",
    "bc": "BC",
    "gail-sa": "GAIL-SA",
    "airl": "AIRL",
    "ppo": "PPO",
    "transfer": "expert transfer",
}
ABSENT = "not set"
NONE_IS_USUAL = "no JSON"


@dataclass(frozen=True)
class Group:
    """The seeds of one method with one set of options in one world."""

    method: str
    variant: str
    env: str
    dynamics: str
    runs: tuple[Run, ...]

    @property
    def label(self) -> str:
        """What a legend calls it."""
        name = METHODS.get(self.method, self.method)
        return f"{name}, {self.variant}" if self.variant else name

    @property
    def setting(self) -> tuple[str, str]:
        """Where it is compared with others."""
        return self.env, self.dynamics

    @property
    def finished(self) -> list[Run]:
        """The runs that came to their end."""
        return [run for run in self.runs if run.state == "finished"]

    def values(self, name: str) -> np.ndarray:
        """A number of each finished run that has it."""
        found = np.array([run[name] for run in self.finished])
        return found[np.isfinite(found)]

    @property
    def steps(self) -> int:
        """Steps that each run was asked to make."""
        return self.runs[0].asked_steps


def usable(runs: list[Run]) -> list[Run]:
    """Those that a table or figure may show."""
    return [run for run in runs if run.state in USABLE]


def named(runs: list[Run]) -> list[Run]:
    """The runs with the names of their variants; one that repeats another's config and seed is called a duplicate."""
    by_method: dict[str, list[Run]] = {}
    for run in runs:
        if run.config:
            by_method.setdefault(run.method, []).append(run)
    variants: dict[str, str] = {}
    for alike in by_method.values():
        variants |= _variants(alike)
    runs = [replace(run, variant=variants.get(run.name, "")) for run in runs]
    first: dict[tuple, str] = {}
    for run in sorted(usable(runs), key=lambda run: (run.state != "finished", run.folder is None, natural(run.name))):
        first.setdefault((*identity(run), run.seed), run.name)
    kept = set(first.values())
    return [
        replace(run, state="duplicate", note=f"the same config and seed as {first[(*identity(run), run.seed)]}")
        if usable([run]) and run.name not in kept
        else run
        for run in runs
    ]


def groups(runs: list[Run]) -> list[Group]:
    """All groups, in the order in which they are shown: by dynamics, robot, method, variant."""
    together: dict[tuple, list[Run]] = {}
    for run in usable(runs):
        together.setdefault(identity(run), []).append(run)
    found = []
    for members in together.values():
        run = members[0]
        seeds = tuple(sorted(members, key=lambda member: member.seed or 0))
        found.append(Group(run.method, run.variant, run.env, run.dynamics, seeds))
    return sorted(found, key=order)


def order(group: Group) -> tuple:
    """Where a group stands among others."""
    known = list(METHODS)
    place = known.index(group.method) if group.method in known else len(known)
    where = (dynamics_order(group.dynamics), env_order(group.env))
    return *where, place, group.method, natural(group.variant)


def settings(found: list[Group]) -> dict[tuple[str, str], list[Group]]:
    """The groups of each (env, dynamics)."""
    by_setting: dict[tuple[str, str], list[Group]] = {}
    for group in found:
        by_setting.setdefault(group.setting, []).append(group)
    return by_setting


def identity(run: Run) -> tuple:
    """Everything but the seed."""
    return run.method, run.env, run.dynamics, json.dumps(choices(run.config), sort_keys=True)


def choices(config: dict[str, Any]) -> dict[str, Any]:
    """What was chosen beside world and seed, by dotted path: {"elite.capacity": 5, "steps": 5000000, ...}."""
    config = completed(config)
    budget = {name: value for name, value in config["budget"].items() if name != "seed"}
    return _flat(config["options"]) | budget | {"version": config.get("version", "")}


def written(config: dict[str, Any]) -> dict[str, str]:
    """The same as JSON."""
    return {path: json.dumps(value) for path, value in choices(config).items()}


def _flat(options: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in options.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": value}
    return flat


def _variants(runs: list[Run]) -> dict[str, str]:
    """Run name -> variant, for the runs of one method: a variant is called by what is unusual in it."""
    chosen = {run.name: written(run.config) for run in runs}
    together: dict[tuple, dict[tuple, list[str]]] = {}
    for run in runs:
        variants = together.setdefault((run.env, run.dynamics), {})
        variants.setdefault(tuple(sorted(chosen[run.name].items())), []).append(run.name)
    everywhere = [dict(choice) for variants in together.values() for choice in variants]
    names: dict[str, str] = {}
    for variants in together.values():
        told = tell_apart([dict(choice) for choice in variants], everywhere)
        for name, members in zip(told, variants.values()):
            names |= dict.fromkeys(members, name)
    return names


def tell_apart(here: list[dict[str, str]], everywhere: list[dict[str, str]]) -> list[str]:
    """A name for each set of choices (JSON by path): what differs here and is not the usual value."""
    usual = {path: _usual(path, here, everywhere) for path in differing(here)}
    names = []
    for mine in here:
        unusual = [path for path in usual if mine.get(path) != usual[path]]
        names.append(", ".join(f"{path}={json.loads(mine[path]) if path in mine else ABSENT}" for path in unusual))
    return names


def differing(chosen: list[dict[str, str]]) -> list[str]:
    """Paths on which not all agree."""
    paths = sorted({path for choice in chosen for path in choice})
    return [path for path in paths if len({choice.get(path) for choice in chosen}) > 1]


def _usual(path: str, here: list[dict[str, str]], everywhere: list[dict[str, str]]) -> str | None:
    """The value that is clearly the most common, in all settings or else in this one, and that occurs in this one."""
    present = {choice.get(path) for choice in here}
    for choices_made in (everywhere, here):
        ranking = Counter(choice.get(path) for choice in choices_made).most_common(2)
        clear = len(ranking) == 1 or ranking[0][1] > ranking[1][1]
        if clear and ranking[0][0] in present:
            return ranking[0][0]
    return NONE_IS_USUAL
