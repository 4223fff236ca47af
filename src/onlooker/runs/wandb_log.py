"""Weights & Biases as one more place to log to. Offline (WANDB_MODE=offline) it needs no account and no network."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onlooker.errors import UserError
from onlooker.failures import told
from onlooker.runs.folder import RunFolder


@contextmanager
def logging(folder: RunFolder) -> Iterator[Callable[[int, dict[str, float]], None]]:
    """A listener of the loop that logs every iteration; a resumed run goes on in the same W&B run."""
    try:
        import wandb
    except ImportError:
        raise UserError("--wandb needs Weights & Biases: pip install 'onlooker[wandb]'") from None
    identity = folder.path / "wandb-id.txt"
    if not identity.exists():
        identity.write_text(uuid.uuid4().hex)
    try:
        run = wandb.init(
            project="onlooker",
            name=folder.path.name,
            dir=str(folder.path),
            config=folder.config.to_json(),
            id=identity.read_text(),
            resume="allow",
        )
    except Exception as failure:  # no login, no network, no such project: W&B has an error of its own for each
        raise UserError(
            f"--wandb can't begin: {told(failure)}; log in with `wandb login`, or set WANDB_MODE=offline"
        ) from failure
    try:
        yield lambda iteration, metrics: run.log(metrics, step=iteration)
    finally:
        run.finish()
