"""A grid's cells on Ray: one run a core, on this machine or a cluster; what fails goes on from its checkpoint.

A cell is a run folder. Where all machines see the same folder (or there is one machine), cells run in place. With
`fetch`, a cell runs in a folder of the machine it lands on, and the finished run folder comes back through Ray.
"""

import contextlib
import fcntl
import io
import os
import shutil
import signal
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from onlooker.errors import UserError
from onlooker.grid import plan
from onlooker.grid.plan import Cell
from onlooker.runs.folder import RunFolder

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
STOPPED = "stopped"


class Overview(NamedTuple):
    """How a grid stands."""

    finished: list[str]
    running: list[str]
    waiting: list[str]
    failed: dict[str, str]  # name -> last error
    news: str  # what just happened; empty for a mere tick


Watcher = Callable[[Overview], None]


def run(
    cells: list[Cell],
    out: Path,
    watch: Watcher,
    jobs: int = 0,
    address: str = "",
    retries: int = 2,
    fetch: bool = False,
) -> dict[str, str]:
    """Run every cell that is not finished. The names of those that failed, with their last errors.

    jobs: runs at a time on this machine, 0 for one a core. address: of a Ray cluster to join. retries: how often a
    cell whose process dies or fails goes on from its checkpoint.
    """
    ray = _ray()
    plan.open_folder(out, cells)
    with _only_driver(out):
        waiting = [cell.name for cell in cells if not plan.prepare(cell, out).finished]
        finished = [cell.name for cell in cells if cell.name not in set(waiting)]
        if not waiting:
            watch(Overview(finished, [], [], {}, f"all {len(cells)} cells are finished already"))
            return {}
        watch(Overview(finished, [], waiting, {}, f"{len(cells)} cells, {len(finished)} already finished"))
        with _cluster(ray, jobs, address), _stopping():
            return _drive(ray, out, watch, waiting, finished, retries, fetch)


def _drive(
    ray: Any, out: Path, watch: Watcher, waiting: list[str], finished: list[str], retries: int, fetch: bool
) -> dict[str, str]:
    task = ray.remote(num_cpus=1, max_retries=0, max_calls=1)(_cell)
    environment = ONE_THREAD | {"PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    task = task.options(runtime_env={"env_vars": environment})
    tries = dict.fromkeys(waiting, 0)
    running: dict[Any, str] = {}
    failed: dict[str, str] = {}
    node = int(ray.cluster_resources().get("CPU", 1))

    def tell(news: str) -> None:
        watch(Overview(finished, list(running.values()), waiting, failed, news))

    try:
        while waiting or running:
            while waiting and len(running) < node:
                name = waiting.pop(0)
                tries[name] += 1
                luggage = pack(out / name) if fetch else None
                running[task.remote(str((out / name).resolve()), luggage)] = name
                tell(f"{name}: started")
            done, _ = ray.wait(list(running), timeout=1.0)
            for reference in done:
                name = running.pop(reference)
                try:
                    error, luggage = ray.get(reference)
                except Exception as failure:  # the worker died, or its machine
                    error, luggage = f"its process died ({type(failure).__name__})", None
                if luggage is not None:
                    unpack(luggage, out / name)
                if RunFolder.open(out / name).finished:
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


def _cell(path: str, luggage: bytes | None) -> tuple[str, bytes | None]:
    """In a worker: go on with a run to its end. (what went wrong, the run folder if it was sent along)."""
    if luggage is None:
        return _train(Path(path)), None
    here = Path(tempfile.gettempdir()) / "onlooker-cells" / path.strip("/").replace("/", "-")
    unpack(luggage, here)
    error = _train(here)
    luggage = pack(here)
    if not error:
        shutil.rmtree(here)
    return error, luggage


def _train(path: Path) -> str:
    """Go on with the run in this folder on one thread; what went wrong, or nothing. What it says goes to log.txt."""
    from onlooker.loop import Interrupted, train

    spoke = time.monotonic()

    def show(iteration: int, metrics: dict[str, float]) -> None:
        nonlocal spoke
        if time.monotonic() - spoke > 15:
            spoke = time.monotonic()
            print(f"{metrics['steps']:,.0f} steps  return {metrics['return']:.0f}", flush=True)

    with (path / "log.txt").open("a") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            train(RunFolder.open(path), threads=1, watch=show)
        except (Interrupted, KeyboardInterrupt):
            return STOPPED
        except UserError as failure:
            print(f"onlooker: {failure}", flush=True)
            return str(failure)
        except Exception as failure:
            traceback.print_exc()
            return f"{type(failure).__name__}: {failure}"
    return ""


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
    metrics = path / "metrics.csv"
    return (path / "result.json").exists(), len(metrics.read_bytes().splitlines()) if metrics.exists() else 0


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UserError("grids run on Ray, which is not installed: pip install 'onlooker[grid]'") from None
    return ray


@contextlib.contextmanager
def _cluster(ray: Any, jobs: int, address: str) -> Iterator[None]:
    """Ray, joined at an address or started on this machine for as long as the grid runs."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    # Checking the cells has started jax. Ray starts programs, not copies of this process, so jax need not worry.
    warnings.filterwarnings("ignore", message="os.fork")
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            cores = jobs or os.cpu_count() or 1
            small = {"include_dashboard": False, "object_store_memory": 100 * 2**20}
            ray.init(address="local", num_cpus=cores, **small, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as failure:
        raise UserError(f"can't {'join Ray at ' + address if address else 'start Ray'}: {failure}") from failure
    try:
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _only_driver(out: Path) -> Iterator[None]:
    """Nobody else runs a grid in this folder meanwhile."""
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"another grid is running in {out}; wait for it, or choose another --out") from None
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
