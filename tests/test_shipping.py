"""What leaves the house: cards, versions, the lowest that we need."""

import importlib.metadata
import importlib.util
from pathlib import Path
from types import ModuleType

import onlooker

ROOT = Path(__file__).parent.parent


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cards_say_what_the_files_say() -> None:
    assert tool("cards").PAGE.read_text() == tool("cards").page(), "run tools/cards.py"


def test_every_need_has_a_lowest_version_that_the_pinned_one_is_not_below() -> None:
    pinned = dict(line.lower().replace("_", "-").split("==") for line in (ROOT / "constraints.txt").read_text().split())
    lowest = tool("lowest").lowest(["export", "sb3", "grid", "docs", "dev"])
    assert "jaxlib==0.5" in lowest
    for line in lowest:
        name, version = line.lower().replace("_", "-").split("==")
        assert _numbers(pinned[name]) >= _numbers(version), line


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def test_one_version_everywhere() -> None:
    assert importlib.metadata.version("onlooker") == onlooker.__version__
    assert f"version: {onlooker.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {onlooker.__version__}" in (ROOT / "CHANGELOG.md").read_text()
