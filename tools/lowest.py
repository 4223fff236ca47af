"""The lowest versions that pyproject.toml allows, as constraints for pip: python tools/lowest.py export > lowest.txt"""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest(extras: list[str]) -> list[str]:
    """`name==version` of everything that is needed, and of what these extras need."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    needed = project["dependencies"] + [line for name in extras for line in project["optional-dependencies"][name]]
    pairs = [re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(?:;.*)?", line) for line in needed]
    missing = [line for line, pair in zip(needed, pairs) if pair is None]
    assert not missing, f"no lowest version: {missing}"
    found = [f"{pair[1]}=={pair[2]}" for pair in pairs if pair]
    return [*found, *(line.replace("jax==", "jaxlib==") for line in found if line.startswith("jax=="))]


if __name__ == "__main__":
    print("\n".join(lowest(sys.argv[1:])))
