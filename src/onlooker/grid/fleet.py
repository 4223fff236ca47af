"""A grid's cells on Ray: one run a core, on this machine or a cluster; what fails goes on from its checkpoint.

A cell is a run folder. Where all machines see the same folder (or there is one machine), cells run in place. With
`fetch`, a cell runs in a folder of the machine it lands on, and the finished run folder comes back through Ray.
"""

import contextlib
import hashlib
import io
import os
import shutil
import signal
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from onlooker import importing, start
from onlooker.errors import UserError, printable
from onlooker.grid import cluster, plan
from onlooker.grid.plan import Cell
from onlooker.runs import layout
from onlooker.storage import locked

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
STOPPED = "stopped"
LONGEST_ERROR = 300  # what is told of an error; log.txt has it whole


class Overview(NamedTuple):
    """How a grid stands."""

    finished: list[str]
    running: list[str]
    waiting: list[str]
    failed: dict[str, str]  # name -> last error
    news: str  # what just happened; empty for a mere tick


Listener = Callable[[Overview], None]


def run(
    cells: list[Cell],
    out: Path,
    listener: Listener,
    jobs: int = 0,
    address: str = "",
    retries: int = 2,
    fetch: bool = False,
) -> dict[str, str]:
    """Run every cell that is not finished. The names of those that failed, with their last errors.

    jobs: runs at a time on this machine, 0 for one a core. address: of a Ray cluster to join. retries: how often a
    cell whose process dies or fails goes on from its checkpoint.
    """
    cluster.ray()
    if address:
        cluster.check(address)
    plan.open_folder(out, cells)
    with _only_driver(out):
        waiting = [cell.name for cell in cells if not plan.prepare(cell, out).finished]
        finished = sorted({cell.name for cell in cells} - set(waiting))
        if not waiting:
            listener(Overview(finished, [], [], {}, f"all {len(cells)} cells are finished already"))
            return {}
        listener(Overview(finished, [], waiting, {}, f"{len(cells)} cells, {len(finished)} already finished"))
        with cluster.running(jobs, address) as ray, _stopping():
            return _drive(ray, out, listener, waiting, finished, retries, fetch, plan.import_paths(cells))


def _drive(
    ray: Any,
    out: Path,
    listener: Listener,
    waiting: list[str],
    finished: list[str],
    retries: int,
    fetch: bool,
    trusted: list[str],
) -> dict[str, str]:
    task = ray.remote(num_cpus=1, max_retries=0, max_calls=1)(_cell)
    environment = ONE_THREAD | {"PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    task = task.options(runtime_env={"env_vars": environment})
    tries = dict.fromkeys(waiting, 0)
    running: dict[Any, str] = {}
    failed: dict[str, str] = {}
    cores = int(ray.cluster_resources().get("CPU", 1))

    def tell(news: str) -> None:
        listener(Overview(finished, list(running.values()), waiting, failed, news))

    try:
        while waiting or running:
            while waiting and len(running) < cores:
                name = waiting.pop(0)
                tries[name] += 1
                luggage = pack(out / name) if fetch else None
                running[task.remote(str((out / name).resolve()), luggage, trusted)] = name
                tell(f"{name}: started")
            done, _ = ray.wait(list(running), timeout=1.0)
            for reference in done:
                name = running.pop(reference)
                try:
                    error, luggage = ray.get(reference)
                except Exception as failure:  # the worker died, or its machine
                    error, luggage = f"its process died ({type(failure).__name__})", None
                    with contextlib.suppress(OSError), _log(out / name) as log:
                        print(failure, file=log)
                if luggage is not None:
                    unpack(luggage, out / name)
                if (out / name / layout.RESULT).exists():
                    finished.append(name)
                    tell(f"{name}: finished")
                elif tries[name] <= retries:
                    waiting.insert(0, name)
                    tell(f"{name}: {error}; going on from its checkpoint")
                else:
                    failed[name] = error
                    tell(f"{name}: failed: {error}")
            if not done:
                tell("")
    finally:
        for reference in running:
            ray.cancel(reference)  # it saves and ends
        if running:
            ray.wait(list(running), num_returns=len(running), timeout=60)
    return failed


def _cell(path: str, luggage: bytes | None, trusted: list[str]) -> tuple[str, bytes | None]:
    """In a worker: go on with a run to its end. (what went wrong, the run folder if it was sent along).

    `trusted` is code of the user's own: that it may be imported was said to the driver, in another process.
    """
    importing.allow(*trusted)
    if luggage is None:
        return _train(Path(path)), None
    mark = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:16]  # another grid has other marks
    here = Path(tempfile.gettempdir()) / "onlooker-cells" / f"{Path(path).name}-{mark}"
    unpack(luggage, here)
    error = _train(here)
    luggage = pack(here)
    if not error:
        shutil.rmtree(here)
    return error, luggage


def _train(path: Path) -> str:
    """Go on with the run in this folder on one thread; what went wrong, or nothing. What it says goes to log.txt."""
    from onlooker.interrupts import Interrupted
    from onlooker.loop import train

    spoke = time.monotonic()

    def show(iteration: int, metrics: dict[str, float]) -> None:
        nonlocal spoke
        if time.monotonic() - spoke > 15:
            spoke = time.monotonic()
            print(f"{metrics['steps']:,.0f} steps  return {metrics['return']:.0f}", flush=True)

    with _log(path) as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            train(start.resume(path), threads=1, listener=show)
        except (Interrupted, KeyboardInterrupt):
            return STOPPED
        except UserError as failure:
            traceback.print_exc()
            return in_a_line(str(failure))
        except Exception as failure:
            traceback.print_exc()
            return in_a_line(f"{type(failure).__name__}: {failure}")
    return ""


def in_a_line(error: str) -> str:
    """What a board shows of an error, whatever it holds."""
    line = printable(" ".join(error.split()))
    return line if len(line) <= LONGEST_ERROR else line[:LONGEST_ERROR] + " ..."


def _log(path: Path) -> IO[str]:
    return (path / layout.LOG).open("a", encoding="utf-8", errors="backslashreplace")


def pack(path: Path) -> bytes:
    """A run folder as one piece."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                archive.write(file, file.relative_to(path))
    return stream.getvalue()


def unpack(luggage: bytes, path: Path) -> None:
    """Put a packed run folder in the place of `path`, unless what is there has come further."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".incoming-") as folder:
        new, old = Path(folder) / "new", Path(folder) / "old"
        with zipfile.ZipFile(io.BytesIO(luggage)) as archive:
            archive.extractall(new)
        if path.exists():
            if _progress(path) > _progress(new):
                return
            path.rename(old)
        new.rename(path)


def _progress(path: Path) -> tuple[bool, int]:
    """(finished, lines of metrics): the larger, the further a run has come."""
    metrics = path / layout.METRICS
    return (path / layout.RESULT).exists(), len(metrics.read_bytes().splitlines()) if metrics.exists() else 0


@contextlib.contextmanager
def _only_driver(out: Path) -> Iterator[None]:
    """Nobody else runs a grid in this folder meanwhile."""
    lock = locked(out / layout.LOCK)
    if lock is None:
        raise UserError(f"another grid is running in {out}; wait for it, or choose another --out")
    with lock:
        yield


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """SIGTERM is Ctrl-C: what runs is saved before the grid ends."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
