"""The shape of the house: imports point down only, and rooms stay small. Read off the source, nothing is run."""

import ast
import importlib.util
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in (SOURCE / "onlooker").rglob("*.py")}


@cache
def imports(module: str) -> frozenset[str]:
    """What a module names in import statements, at its top or inside functions: ours in full, others by first name.

    Python runs a package's __init__ before any module of it, so that is imported too.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            # `from onlooker import x` means the module onlooker.x, if there is one.
            found |= {
                f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in MODULES else str(node.module)
                for a in node.names
            }
    found |= {".".join(name.split(".")[:n]) for name in found if name.startswith("onlooker.") for n in range(2, 9)}
    return frozenset(name if name.startswith("onlooker") else name.split(".")[0] for name in found) - {module}


@cache
def reach(module: str, passed_over: frozenset[str] = frozenset()) -> frozenset[str]:
    """Everything that a module's import statements lead to, of ours and of others, but for what is passed over."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for name in imports(waiting.pop()) - found - passed_over:
            found.add(name)
            if name in MODULES:
                waiting.append(name)
    return frozenset(found)


def inside(package: str) -> list[str]:
    """A package's modules, or a module itself."""
    found = [name for name in MODULES if name == f"onlooker.{package}" or name.startswith(f"onlooker.{package}.")]
    assert found, package
    return found


def rooms(modules: frozenset[str]) -> set[str]:
    """First names within the package: onlooker.envs.pool -> envs."""
    return {name.split(".")[1] for name in modules if name.startswith("onlooker.")}


# From the top down. What a room reaches, it may use; what stands before it in this list, it must not know of.
FLOORS = [
    {"__main__"},
    {"commands"},
    {"grid"},
    {"api", "analysis"},
    {"loop"},
    {"start"},
    {"evaluation"},
    {"collect"},
    {"runs"},
    {"config"},
    {"methods"},
    {"learning"},
    {"types"},
    {"policies"},
]


def test_imports_point_down_only() -> None:
    above: set[str] = set()
    for floor in FLOORS:
        above |= floor
        for room in floor:
            for module in inside(room):
                upwards = rooms(reach(module)) & (above - {room})
                assert not upwards, f"{module} reaches up to {upwards}"


def test_there_is_no_circle() -> None:
    # A package's own __init__ gathers its modules; a circle through it alone is none.
    packages = frozenset(name for name, path in MODULES.items() if path.name == "__init__.py")
    for module in MODULES.keys() - packages:
        assert module not in reach(module, packages), module


def test_acting_needs_no_jax() -> None:
    for module in (*inside("policies"), "onlooker.trained", "onlooker.evaluation"):
        assert not reach(module) & {"jax", "jaxlib", "optax"}, module


@pytest.mark.parametrize("package", ["envs", "demos"])
def test_environments_and_demonstrations_know_nothing_of_learning(package: str) -> None:
    for module in inside(package):
        assert not reach(module) & {"jax", "jaxlib", "optax"}, module
        below = {"envs", "demos", "options", "errors", "failures", "storage", "importing"}
        assert rooms(reach(module)) <= below, module


def test_reports_read_files_only() -> None:
    for module in inside("report"):
        assert not reach(module) & {"jax", "jaxlib", "optax", "mujoco", "gymnasium"}, module
        assert not rooms(reach(module)) & {"loop", "methods", "collect", "evaluation"}, module
        assert reach(module) & set(inside("envs")) <= {"onlooker.envs", "onlooker.envs.world"}, module


def test_only_the_seam_knows_both_pools_and_policies() -> None:
    """Learning is pure functions over arrays: nothing that a method is made of steps an environment."""
    assert not rooms(reach("onlooker.methods")) & {"collect", "evaluation", "runs"}
    for module in (*inside("methods"), *inside("learning")):
        assert not reach(module) & {"gymnasium", "mujoco"}, module


def test_nothing_is_ever_pickled() -> None:
    for module, path in MODULES.items():
        assert not imports(module) & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}, module
        assert "allow_pickle=True" not in path.read_text(), module


def test_no_room_without_a_name() -> None:
    empty = {"utils", "util", "common", "misc", "base", "helpers", "core", "lib"}
    assert not {part for module in MODULES for part in module.split(".")} & empty


def test_modules_stay_small() -> None:
    sizes = {module: len(path.read_text().splitlines()) for module, path in MODULES.items()}
    assert {module: size for module, size in sizes.items() if size > 350} == {}
    assert sizes["onlooker.loop"] <= 100  # THE loop, findable in a minute


def test_the_loop_is_in_one_place() -> None:
    """Only one module both collects and updates."""
    assert [m for m in MODULES if {"onlooker.collect", "onlooker.runs.checkpoint"} <= imports(m)] == ["onlooker.loop"]


def test_the_page_lists_every_module() -> None:
    spec = importlib.util.spec_from_file_location("architecture_table", SOURCE.parent / "tools/architecture_table.py")
    assert spec is not None
    assert spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    page = table.PAGE.read_text()
    assert table.brought_up_to_date(page) == page, "run tools/architecture_table.py"
    rooms = {path.parent.name for path in (SOURCE / "onlooker").glob("*/__init__.py")}
    assert rooms == set(table.ROOMS) - {""}


def test_no_two_modules_have_one_name() -> None:
    # A command is named after what it does, which may be a room's or a method's name.
    names = [name.split(".")[-1] for name in MODULES if not name.startswith("onlooker.commands.")]
    assert {name for name in names if names.count(name) > 1} == set()
