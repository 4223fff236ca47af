"""Results as pandas frames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onlooker.errors import UserError
from onlooker.report.entry import COLUMNS, CURVE, ROWS
from onlooker.report.gathering import load

if TYPE_CHECKING:
    import pandas


def frame(results: str | Path) -> "pandas.DataFrame":
    """One row a run: method, variant, env, dynamics, seed, steps, return, eval_return, ..., state, note, run."""
    return _pandas().DataFrame([run.row() for run in load(results)], columns=list(COLUMNS))


def curves(results: str | Path, rows: int = ROWS) -> "pandas.DataFrame":
    """One row for each run and point of its curve, at most `rows` a run: what the run is, then its metrics."""
    pandas = _pandas()
    about = ("run", "method", "variant", "env", "dynamics", "seed")
    parts = []
    for run in load(results, rows):
        row = run.row()
        if run.curve:
            parts.append(pandas.DataFrame({name: row[name] for name in about} | run.curve))
    if not parts:
        return pandas.DataFrame(columns=[*about, *CURVE])
    return pandas.concat(parts, ignore_index=True)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise UserError("frames need pandas, which is not installed: pip install pandas") from None
    return pandas
