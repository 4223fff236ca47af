"""Scalars for TensorBoard, written at once by the calling thread: a full disk is noticed where it happens."""

import socket
import sys
import time
from pathlib import Path

# Where torch is installed, tensorboardX imports it, which takes seconds: nothing here has need of it.
_hides_torch = "torch" not in sys.modules
if _hides_torch:
    sys.modules["torch"] = None  # type: ignore[assignment]
try:
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.proto.summary_pb2 import Summary
    from tensorboardX.record_writer import RecordWriter
finally:
    if _hides_torch:
        del sys.modules["torch"]


class Events:
    """One event file in a run folder. A resumed run adds a file that takes back what came after its checkpoint."""

    def __init__(self, folder: Path, from_step: int) -> None:
        self._writer = RecordWriter(str(folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}"))
        self._write(Event(file_version="brain.Event:2"))
        self._write(Event(step=from_step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, step: int, scalars: dict[str, float]) -> None:
        """Named numbers at a step."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
        self._write(Event(step=step, summary=Summary(value=values)))

    def flush(self) -> None:
        """Bring everything to the disk."""
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    def _write(self, event: Event) -> None:
        event.wall_time = time.time()
        self._writer.write(event.SerializeToString())
