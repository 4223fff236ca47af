"""What a run wrote, for whoever reads it. No jax: reports start at once."""

import csv
import json
from pathlib import Path
from typing import Any

from onlooker.errors import UserError


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file of a run folder."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as failure:
        raise UserError(f"{path.parent} is no run folder: can't read {path.name} ({failure})") from failure
    if not isinstance(data, dict):
        raise UserError(f"{path.parent} is no run folder: {path.name} holds no JSON object")
    return data


def read_metrics(path: Path) -> dict[str, list[float]]:
    """Columns of a run's `metrics.csv`."""
    with (Path(path) / "metrics.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}
