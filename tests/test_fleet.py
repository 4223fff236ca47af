"""Grids on real Ray: what dies goes on from its checkpoint, and the result is that of an undisturbed grid."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from onlooker import report
from onlooker.__main__ import main
from onlooker.errors import UserError
from onlooker.grid import cluster, fleet, plan
from onlooker.grid.fleet import Overview
from onlooker.grid.plan import Cell
from onlooker.methods import METHODS
from onlooker.runs.folder import RunFolder

SMALL = """
[defaults]
steps = 3072
steps_per_iteration = 256
num_envs = 4
max_episode_steps = 50
ppo = { minibatches = 4, epochs = 2 }
[[cells]]
method = "ppo"
env = "Pendulum-v1"
seed = [0, 1]
"""


def cells_of(folder: Path, text: str = SMALL) -> list[Cell]:
    (folder / "g.toml").write_text(text)
    return plan.read(folder / "g.toml")


def results(out: Path, cells: list[Cell]) -> dict[str, tuple[bytes, bytes]]:
    """What must be the same however often a run was disturbed."""
    found = {}
    for cell in cells:
        result = json.loads((out / cell.name / "result.json").read_text())
        del result["hours"]
        metrics = (out / cell.name / "metrics.csv").read_bytes()
        found[cell.name] = metrics, json.dumps(result, sort_keys=True).encode()
    return found


def ignore(overview: Overview) -> None:
    pass


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, tuple[bytes, bytes]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    cells = cells_of(folder)
    assert fleet.run(cells, folder / "out", ignore, jobs=2) == {}
    return results(folder / "out", cells)


def test_finished_cells_are_left_alone_and_a_new_one_is_run(tmp_path):
    cells, out = cells_of(tmp_path, SMALL.replace("3072", "512")), tmp_path / "out"
    said: list[str] = []
    assert fleet.run(cells[:1], out, ignore, jobs=1) == {}
    first = (out / cells[0].name / "metrics.csv").stat().st_mtime_ns
    assert fleet.run(cells, out, lambda overview: said.append(overview.news), jobs=1) == {}
    assert all(RunFolder.open(out / cell.name).finished for cell in cells)
    assert (out / cells[0].name / "metrics.csv").stat().st_mtime_ns == first
    assert "2 cells, 1 already finished" in said


def test_a_killed_worker_and_a_killed_driver_lose_nothing(tmp_path, undisturbed):
    """kill -9 of a worker in mid-run, then of the driver; the same command again finishes the grid."""
    cells, out = cells_of(tmp_path), tmp_path / "out"
    command = [sys.executable, "-m", "onlooker", "grid", str(tmp_path / "g.toml"), "--out", str(out), "--jobs", "2"]
    mark, environment = f"ONLOOKER_TEST={tmp_path}", os.environ | {"ONLOOKER_TEST": str(tmp_path)}
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    wait_for(lambda: any((out / cell.name / "metrics.csv").exists() for cell in cells))
    os.kill(workers(mark)[0], signal.SIGKILL)
    time.sleep(1.0)
    with pytest.raises(UserError, match="another grid is running"):  # two drivers on one folder
        fleet.run(cells, out, ignore, jobs=1)
    driver.kill()
    driver.wait()
    assert not all((out / cell.name / "result.json").exists() for cell in cells), "too fast to be disturbed"
    wait_for(lambda: not workers(mark))  # Ray's processes die with their driver
    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False).returncode == 0
    assert results(out, cells) == undisturbed


def test_a_cell_that_fails_is_retried_then_reported_and_the_others_go_on(tmp_path):
    text = SMALL.replace("3072", "512") + '[[cells]]\nmethod = "ppo"\nenv = "broken:Broken"\nseed = 7\n'
    (tmp_path / "broken.py").write_text(
        "import gymnasium as gym\n\n\nclass Broken(gym.Wrapper):\n"
        '    def __init__(self):\n        super().__init__(gym.make("Pendulum-v1"))\n\n'
        '    def step(self, action):\n        raise RuntimeError("the motor [/red] burnt\\x1b[31m\\nout")\n'
    )
    command = [sys.executable, "-m", "onlooker", "grid", "g.toml", "--out", "out", "--jobs", "2", "--retries", "1"]
    command += ["--trust"]  # the workers are other processes: they are told
    (tmp_path / "g.toml").write_text(text)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "1 of 3 cells failed" in done.stderr
    assert "RuntimeError: the motor [/red] burnt\\x1b[31m out" in done.stderr
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()
    assert done.stdout.count("broken") >= 2
    log = (tmp_path / "out" / "ppo-broken.Broken-none-s7" / "log.txt").read_text()
    assert log.count('broken.py", line 9, in step') == 2  # the whole traceback of both tries
    assert len(list((tmp_path / "out").glob("*/result.json"))) == 2


def test_two_nodes_without_a_shared_folder_send_their_runs_home(tmp_path, undisturbed):
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        cells, out = cells_of(tmp_path), tmp_path / "home"
        assert fleet.run(cells, out, ignore, address=cluster.address, fetch=True) == {}
        assert results(out, cells) == undisturbed
        assert all(len(list((out / cell.name / "checkpoints").iterdir())) == 1 for cell in cells)  # it came along
    finally:
        cluster.shutdown()


def test_a_cluster_that_asks_for_a_token_is_joined_with_it_only(tmp_path, monkeypatch):
    """A real head that asks for a token, in a home of its own."""
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address, token = f"127.0.0.1:{port}", {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 2}
    with tempfile.TemporaryDirectory() as short:  # Ray's sockets have long names, and their length is limited
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"]
        command += ["--num-cpus=1", "--include-dashboard=false", f"--temp-dir={short}", "--disable-usage-stats"]
        head = subprocess.Popen(command, env=os.environ | token, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: (Path(short) / "ray_current_cluster").exists())
            with pytest.raises(UserError, match=r"it asks for a token.*RAY_AUTH_MODE=token.*RAY_AUTH_TOKEN"):
                cluster.check(address)
            for name, value in token.items():
                monkeypatch.setenv(name, value)
            cluster.check(address)
        finally:
            head.terminate()
            head.wait(60)


@pytest.mark.learning
def test_the_smoke_grid_runs_every_method_and_its_report_names_them_all(tmp_path):
    cells = plan.read(Path(__file__).parents[1] / "grids" / "smoke.toml")
    assert fleet.run(cells, tmp_path / "out", ignore, jobs=2) == {}
    assert {cell.config.method for cell in cells} == set(METHODS)
    assert main(["report", str(tmp_path / "out"), "--out", str(tmp_path / "page")]) == 0
    frame = report.frame(tmp_path / "out")
    assert (frame.state == "finished").all()
    assert set(frame.method) == set(METHODS)
    assert np.isfinite(frame["return"]).all()


def test_a_run_that_has_come_further_is_not_replaced(tmp_path):
    for name, lines in (("near", 3), ("far", 5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text("line\n" * lines)
    near, far = fleet.pack(tmp_path / "near"), fleet.pack(tmp_path / "far")
    fleet.unpack(near, tmp_path / "far")
    assert (tmp_path / "far" / "metrics.csv").read_text().count("line") == 5
    fleet.unpack(far, tmp_path / "near")
    assert (tmp_path / "near" / "metrics.csv").read_text().count("line") == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "near"]


def workers(mark: str) -> list[int]:
    """Processes of Ray's that run a cell and have `mark` in their environment: those of one grid, nobody else's."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            runs_a_cell = b"ray::_cell" in (process / "cmdline").read_bytes()
            if runs_a_cell and mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def wait_for(condition, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
