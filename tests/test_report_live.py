"""Following runs that go on: what is read, how they stand, when they will be done, and the page in a real browser."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Chromium, browser
from test_report_runs import make_config, make_run

from onlooker.__main__ import main
from onlooker.report import following, live, output, watch
from onlooker.report.following import Followed, Following
from onlooker.report.growing import Growing
from onlooker.report.remaining import expected_rate, recent_rate, until_all_done, whole_steps
from onlooker.report.watch import LivePage


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what it runs in the background with Ctrl-C ignored, and that is inherited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def begin(folder: Path, seed: int = 0, steps: int = 20480) -> Path:
    """A run folder as it is before anything ran."""
    folder.mkdir(parents=True)
    config = make_config("i2l", "Hopper-v5", "low-gravity", seed, budget={"steps": steps})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def go_on(run: Path, iteration: int, value: float) -> None:
    """One more line of metrics and of timing."""
    with (run / "metrics.csv").open("r+") as stream:
        others = len(stream.readline().split(",")) - 3
        stream.seek(0, os.SEEK_END)
        stream.write(f"{iteration},{2048 * (iteration + 1)},{value}{',1' * others}\n")
    with (run / "timing.csv").open("a") as stream:
        stream.write(f"{iteration},{2048 * (iteration + 1)},{5 + (iteration + 1) * 0.5}\n")


def age(folder: Path, seconds: float) -> None:
    """Make all files older."""
    for path in [folder, *folder.rglob("*")]:
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


def statuses(results: Path) -> dict[str, str]:
    return {one.run.name: one.status for one in Following(results).look()}


def test_only_what_was_added_to_a_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("steps,return\n" + "".join(f"{n},{n}.5\n" for n in range(100)))
    table = Growing(path, ("steps", "return"))
    assert table.read().columns["return"].tolist() == [n + 0.5 for n in range(100)]
    with path.open("r+") as stream:  # nobody looks here again
        stream.seek(len("steps,return\n0,"))
        stream.write("9.9")
        stream.seek(0, os.SEEK_END)
        stream.write("100,100.5\n101,10")
    found = table.read()
    assert (found.columns["return"][0], found.columns["return"][-1], found.torn) == (0.5, 100.5, 0)
    with path.open("a") as stream:
        stream.write("1.5\nno number,1\n")
    found = table.read()
    assert (found.columns["return"][-1], len(found.columns["steps"]), found.torn) == (101.5, 102, 1)


@pytest.mark.parametrize(
    "text", ["steps,return\n1,7\n", "steps,return\n", "", "st", "steps,return\n1,2\n2,3\n3,9\n4,5\n"]
)
def test_a_table_that_was_written_anew_is_read_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("steps,return\n1,2\n2,3\n3,4\n")
    table = Growing(path, ("steps", "return"))
    assert table.read().columns["return"].tolist() == [2, 3, 4]
    path.write_text(text)
    fresh = Growing(path, ("steps", "return")).read()
    found = table.read()
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        name: column.tolist() for name, column in fresh.columns.items()
    }
    assert (found.torn, found.begun) == (0, "\n" in text)


def test_speed_is_that_of_the_last_minute() -> None:
    assert math.isnan(recent_rate([100], [10]))
    assert recent_rate([100, 200], [10, 12]) == 50  # without the first iteration
    assert recent_rate([0, 6000, 6600, 7200], [0, 60, 120, 180]) == 10
    assert math.isnan(recent_rate([100, 200], [10, 10]))
    assert math.isnan(recent_rate([100, 200], [10, math.nan]))
    assert whole_steps({"budget": {"steps": 5000, "steps_per_iteration": 2048}}) == 6144


def test_what_waits_takes_the_place_of_what_ends() -> None:
    assert until_all_done([10, 30], []) == 30
    assert until_all_done([10, 30], [5, 5, 20]) == 40  # 10 + 5 + 5 + 20
    assert math.isnan(until_all_done([], [5]))
    assert math.isnan(until_all_done([math.nan, 3], [5]))
    known = {("i2l", "Hopper-v5"): [100.0, 300.0], ("ppo", "Hopper-v5"): [800.0], ("ppo", "Ant-v5"): [40.0]}
    assert expected_rate(("i2l", "Hopper-v5"), known) == 200
    assert expected_rate(("bco", "Hopper-v5"), known) == 400
    assert expected_rate(("bco", "Swimmer-v5"), known) == 310
    assert math.isnan(expected_rate(("bco", "Swimmer-v5"), {}))


def test_how_runs_stand(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert Following(results).look() == []
    results.mkdir()
    assert Following(results).look() == []
    (results / "grid.json").write_text(json.dumps({"cells": ["planned", "running"]}))
    begin(results / "waiting", 1)
    (begin(results / "starting", 2) / ".lock").touch()
    age(results / "starting", 200)
    make_run(results / "running", seed=3, finished=False)
    age(make_run(results / "quiet", seed=4, finished=False), 1000)
    (make_run(results / "failed", seed=5, finished=False) / "log.txt").write_text("ValueError: no\n")
    again = make_run(results / "again", seed=6, finished=False)  # failed, and then goes on
    (again / "log.txt").write_text("ValueError: no\n")
    age(again, 10)
    (again / "metrics.csv").touch()
    make_run(results / "finished", seed=7)
    make_run(results / "twice", seed=7)
    (results / "broken").mkdir()
    (results / "broken" / "config.json").write_text("{")
    assert statuses(results) == {
        "again": "running",
        "broken": "unreadable",
        "failed": "failed",
        "finished": "finished",
        "planned": "waiting",
        "quiet": "quiet",
        "running": "running",
        "starting": "starting",
        "twice": "duplicate",
        "waiting": "waiting",
    }


def test_a_run_whose_iterations_are_long_is_not_quiet_at_once(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    (run / "metrics.csv").write_text("iteration,steps,return\n0,2048,1\n1,4096,1\n")
    (run / "timing.csv").write_text("iteration,steps,seconds\n0,2048,100\n1,4096,200\n")
    age(run, 900)
    assert statuses(tmp_path) == {"run": "running"}
    age(run, 200)
    assert statuses(tmp_path) == {"run": "quiet"}


def test_a_start_that_takes_very_long_is_quiet(tmp_path: Path) -> None:
    (begin(tmp_path / "run") / ".lock").touch()
    age(tmp_path / "run", 400)
    assert statuses(tmp_path) == {"run": "quiet"}


def test_only_runs_that_changed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(5):
        make_run(tmp_path / f"s{seed}", seed=seed, finished=False)
    read = []

    def counting(folder: Path, *others: Any) -> Any:
        read.append(folder.name)
        return real(folder, *others)

    real = following.read_run
    monkeypatch.setattr(following, "read_run", counting)
    looking = Following(tmp_path)
    assert len(looking.look()) == 5
    assert sorted(read) == ["s0", "s1", "s2", "s3", "s4"]
    read.clear()
    go_on(tmp_path / "s3", 5, 77.0)
    (tmp_path / "s1" / "events.out.tfevents.1").write_text("of no interest")
    found = {one.run.name: one for one in looking.look()}
    assert read == ["s3"]
    assert found["s3"].run.curve["return"][-1] == 77.0
    assert found["s3"].run.steps == 6 * 2048
    assert found["s3"].rate == 2048 / 0.5
    make_run(tmp_path / "s5", seed=5)
    assert len(looking.look()) == 6
    assert read == ["s3", "s5"]


def test_half_a_line_is_neither_shown_nor_complained_of(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", finished=False)
    looking = Following(tmp_path)
    before = looking.look()[0]
    for piece in ("5,12288.0,9", "99.0,500,8,0.5,0.1,", "3\n"):
        assert before.run.curve["return"][-1] == 500
        with (run / "metrics.csv").open("a") as stream:
            stream.write(piece)
        (one,) = looking.look()
        assert "whole" not in one.run.note
    assert (one.run.curve["return"][-1], one.run.steps) == (999, 12288)


def make_grid(results: Path) -> dict[str, Followed]:
    """Two cells run, one is finished, two wait, one of them without a folder."""
    make_run(results / "a", seed=0)  # 20,480 steps in half an hour
    make_run(results / "b", seed=1, finished=False)  # 10,240 steps, 4,096 a second
    (begin(results / "c", 2) / ".lock").touch()
    begin(results / "d", 3)
    (results / "grid.json").write_text(json.dumps({"cells": ["a", "b", "c", "d", "e"]}))
    return {one.run.name: one for one in Following(results).look()}


def test_time_left(tmp_path: Path) -> None:
    found = make_grid(tmp_path)
    left = live.seconds_left(list(found.values()))
    mean = (4096 + 20480 / 1800) / 2
    assert left == pytest.approx({"b": 2.5, "c": 20480 / mean, "d": 20480 / mean, "e": 20480 / mean})
    told = live.in_all(list(found.values()), left)
    assert (told["made"], told["total"], told["rate"]) == (30720, 5 * 20480, 4096)
    assert told["left"] == pytest.approx(2 * 20480 / mean)  # d after b, then e after c


def test_nothing_tells_how_long_the_first_run_takes(tmp_path: Path) -> None:
    (begin(tmp_path / "a") / ".lock").touch()
    shown = json.loads(live.embedded(live.data(Following(tmp_path / "a").look(), tmp_path, tmp_path / "out")))
    assert shown["all"] == {"made": 0, "total": 20480, "rate": 0, "left": None}
    assert [(run["run"], run["status"], run["left"]) for run in shown["runs"]] == [("a", "starting", None)]
    assert (shown["panels"], shown["films"]) == ([], [])


def test_curves_of_many_runs_stay_small(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a", budget={"steps": 5_000_000})
    one = Following(run).look()[0]
    alone = live.data([one], tmp_path, tmp_path)["panels"][0]["lines"][0]
    assert len(alone["x"]) == 100
    assert (alone["x"][-1], alone["y"][-1]) == (5.0012, 1000)
    assert (alone["run"], alone["label"], alone["name"]) == ("a", "I2L", "I2L, seed 0")
    many = live.data([one] * 500, tmp_path, tmp_path)["panels"][0]["lines"]
    assert {len(line["x"]) for line in many} == {24}


def test_a_run_without_reward_shows_what_there_is(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", finished=False)
    text = (run / "metrics.csv").read_text()
    (run / "metrics.csv").write_text(text.replace(",return,", ",nothing,"))
    (panel,) = live.data(Following(tmp_path).look(), tmp_path, tmp_path)["panels"]
    assert (panel["y"], panel["lines"][0]["y"][0]) == ("estimate of W1", 3.0)


def test_what_is_over_is_written_once_and_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "runs" / "a")
    (make_run(tmp_path / "runs" / "b", seed=1, finished=False) / "log.txt").write_text("ValueError: no\n")
    age(tmp_path / "runs", 1000)
    assert main(["report", str(tmp_path / "runs"), "--watch", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"following {tmp_path}/runs; open {tmp_path}/out/live.html in a browser. Ctrl-C ends this",
        "2 runs: 1 failed, 1 finished",
        f"all runs are over; the report is {tmp_path}/out/index.html",
    ]
    assert '"ended":"finished"' in (tmp_path / "out" / "live.js").read_text()
    assert '"report":true' in (tmp_path / "out" / "live.js").read_text()
    assert (tmp_path / "out" / "tables" / "summary.csv").is_file()
    assert main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0  # beside the live page
    assert (tmp_path / "out" / "live.html").is_file()


def test_a_folder_that_went_away_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs" / "a", finished=False)
    said: list[str] = []
    pauses = iter([lambda: shutil.rmtree(tmp_path / "runs"), lambda: signal.raise_signal(signal.SIGINT)])
    monkeypatch.setattr(watch.time, "sleep", lambda seconds: next(pauses)())
    monkeypatch.setattr(watch, "SPEAK", 0.0)
    watch.watch(tmp_path / "runs", tmp_path / "runs" / "report", said.append)
    assert said[1:] == [
        "1 run: 1 running",
        f"waiting: there is no run in {tmp_path}/runs yet. Ctrl-C ends this",
        f"stopped; no run has begun in {tmp_path}/runs, so there is no page",
    ]
    assert not (tmp_path / "runs").exists()


def test_what_just_ended_is_not_left_yet(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    assert not watch._are_over(Following(tmp_path).look())
    age(tmp_path, watch.PATIENCE)
    assert watch._are_over(Following(tmp_path).look())
    begin(tmp_path / "b", 1)
    age(tmp_path, 1e6)
    assert not watch._are_over(Following(tmp_path).look())
    assert not watch._are_over([])


def start_watching(results: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "onlooker", "report", str(results), "--watch"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def next_line(process: subprocess.Popen) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_from_before_the_first_run_to_ctrl_c(tmp_path: Path) -> None:
    nothing, results = start_watching(tmp_path / "nothing"), tmp_path / "results"
    process = start_watching(results)
    assert next_line(nothing) == f"waiting: there is no run in {tmp_path}/nothing yet. Ctrl-C ends this\n"
    nothing.send_signal(signal.SIGINT)
    assert nothing.communicate(timeout=60)[0] == (
        f"stopped; no run has begun in {tmp_path}/nothing, so there is no page\n"
    )
    assert nothing.returncode == 0
    assert not (tmp_path / "nothing").exists()

    assert next_line(process).startswith("waiting: there is no run in ")
    assert not results.exists()
    make_run(results / "a", finished=False)
    assert next_line(process).startswith(f"following {results}; open {results}/report/live.html in a browser")
    while not (results / "report" / "live.js").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[0]
    assert said.endswith(f"stopped; the page is {results}/report/live.html\n")
    assert process.returncode == 0
    assert '"ended":"stopped"' in (results / "report" / "live.js").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["file", "--watch"], "file is no folder"),
        (["runs", "--watch", "--pack", "p"], "choose one of --watch and --pack"),
        (["packed", "--watch"], "packed is a packed folder: nothing in it goes on"),
        (["runs", "--watch", "--out", "foreign"], "foreign holds mine.txt, which no report wrote"),
        (["nowhere", "--watch", "--out", "file"], "file is no folder; choose another --out"),
    ],
)
def test_bad_words_are_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "runs" / "a", finished=False)
    assert main(["report", "runs", "--pack", "packed"]) == 0
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").write_text("mine")
    capsys.readouterr()
    assert main(["report", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_report_and_a_live_page_leave_each_other_alone(tmp_path: Path) -> None:
    output.write(tmp_path, {"index.html": b"report", "figures/a.png": b"a"})
    output.write_live(tmp_path, {"live.html": b"live", "live.js": b"1"})
    output.write_live(tmp_path, {"live.html": b"live", "live.js": b"2"})
    (tmp_path / ".live.js.ab12_xyz").write_bytes(b"half of 3")  # as `storage.atomic` has it
    output.write(tmp_path, {"index.html": b"newer"})
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != output.MARK}
    assert left == {"index.html": b"newer", "live.html": b"live", "live.js": b"2", ".live.js.ab12_xyz": b"half of 3"}
    (tmp_path / ".live.js.mine").write_bytes(b"no name that we write")
    with pytest.raises(Exception, match=r"holds \.live\.js\.mine, which no report wrote"):
        output.check(tmp_path)


@browser
def test_the_page_follows_in_a_real_browser(tmp_path: Path) -> None:
    results, out = tmp_path / "results", tmp_path / "results" / "report"
    for seed in range(40):
        make_run(results / f"i2l-s{seed}", seed=seed, finished=seed < 38)
        age(results / f"i2l-s{seed}", 60)
    gail = make_run(results / "gail-s-s0", "gail-s", finished=False)
    looking, page = Following(results), LivePage(results, out)
    page.show(looking.look())
    with Chromium(tmp_path / "profile") as chromium:
        ask, until = chromium.ask, chromium.until
        chromium.open(page.path, height=500)
        until("document.body.dataset.ready !== undefined")
        assert ask("document.body.dataset.error") is None
        assert (
            "41 runs: 3 running, 38 finished; 808,960 of 839,680 steps; 12,288 steps/s; all done in about 3 s"
            in ask("document.getElementById('summary').textContent")
        )
        field = "document.querySelector('tr[data-run=\"{}\"] [data-field={}]').{}"
        assert ask(field.format("gail-s-s0", "share", "textContent")) == "50%"
        assert ask(field.format("gail-s-s0", "left", "textContent")) == "3 s"
        assert ask(field.format("gail-s-s0", "return", "dataset.value")) == "500"
        assert ask("document.querySelector('#followed tbody tr').dataset.run") == "gail-s-s0"  # what runs comes first
        assert ask("document.querySelectorAll('#curves path.line').length") == 41

        # What the user chose: words, a state that is hidden, a label that is hidden, where the page is scrolled to.
        ask("document.getElementById('filter').value = 's1 hopper'")
        ask("document.getElementById('filter').dispatchEvent(new Event('input'))")
        ask("Array.from(document.querySelectorAll('#statuses button')).find(b => b.textContent == 'finished').click()")
        assert ask("document.body.dataset.visible") == "0"
        ask("document.getElementById('filter').value = 's'")
        ask("document.getElementById('filter').dispatchEvent(new Event('input'))")
        assert ask("document.body.dataset.visible") == "3"
        ask("Array.from(document.querySelectorAll('#curves button')).find(b => b.textContent == 'I2L').click()")
        lines = "Array.from(document.querySelectorAll('#curves path.line')).map(line => line.dataset.label).join()"
        assert ask(lines) == "GAIL-S"
        ask("window.scrollTo(0, 120)")
        shape = ask("document.querySelector('#curves path.line').getAttribute('d')")

        go_on(gail, 5, 777.0)
        (results / "i2l-s38" / "a film.mp4").write_bytes(b"film")
        page.show(looking.look())
        until(field.format("gail-s-s0", "return", "dataset.value") + " === '777'")  # it came by itself
        assert ask("window.scrollY") == 120
        assert ask("document.body.dataset.visible") == "3"
        assert ask(lines) == "GAIL-S"
        assert ask("document.querySelector('#curves path.line').getAttribute('d')") != shape
        film = ask("document.querySelector('#films video').getAttribute('src')")
        assert film.startswith("../i2l-s38/a%20film.mp4?")
        assert ask("document.querySelectorAll('body > script').length") == 1  # what was loaded is taken away again

        # A film that was there stays, so that it can be watched; another one comes before it.
        ask("document.querySelector('#films video').dataset.old = 'yes'")
        (results / "i2l-s39" / "video.mp4").write_bytes(b"film")
        page.show(looking.look())
        ask("load()")  # no need to wait for it
        until("document.querySelectorAll('#films video').length === 2")
        assert (
            ask("Array.from(document.querySelectorAll('#films video')).map(v => v.dataset.old || 'no').join()")
            == "no,yes"
        )

        assert ask("document.body.dataset.state") == "fresh"
        page.show(looking.look(), "stopped")
        ask("load()")
        until("document.body.dataset.state === 'stopped'")
        told = ask("document.getElementById('trouble').textContent")
        assert told.endswith(f"To go on: onlooker report {results} --watch")
        page.show(looking.look(), "finished")
        ask("load()")
        until("document.body.dataset.state === 'finished'")
        assert ask("document.body.dataset.error") is None


@browser
def test_a_page_whose_writer_is_gone_says_so(tmp_path: Path) -> None:
    make_run(tmp_path / "results" / "a", finished=False)
    shown = live.embedded(live.data(Following(tmp_path / "results").look(), tmp_path / "results", tmp_path / "out"))
    contents = {"live.html": live.page(), "live.js": live.script(shown, time.time() - 3 * live.BEAT - 20)}
    output.write_live(tmp_path / "out", contents)
    with Chromium(tmp_path / "profile") as chromium:
        chromium.open(tmp_path / "out" / "live.html")
        chromium.until("document.body.dataset.state === 'stale'")
        told = chromium.ask("document.getElementById('trouble').innerText")
        assert told.startswith("The writer of this page has stopped: nothing came for 2 min.")
        (tmp_path / "out" / "live.js").write_bytes(live.script(shown, time.time()))
        chromium.ask("load()")
        chromium.until("document.body.dataset.state === 'fresh'")
        assert chromium.ask("document.getElementById('trouble').innerText") == ""
        (tmp_path / "out" / "live.js").unlink()
        chromium.open(tmp_path / "out" / "live.html")
        chromium.until("document.getElementById('written').textContent.startsWith('live.js is not there')")


@browser
def test_names_do_no_harm(tmp_path: Path) -> None:
    nasty = "</script><script>document.title='harm'</script><img src=x onerror=\"document.title='harm'\">"
    run = make_run(tmp_path / "results" / "a", method=nasty, env=nasty, finished=False)
    (run / "\"><b onclick=1>'.mp4").write_bytes(b"film")
    (run / "log.txt").write_text(f"ValueError: {nasty}\n")
    page = LivePage(tmp_path / "results", tmp_path / "out")
    page.show(Following(tmp_path / "results").look())
    assert "<" not in (tmp_path / "out" / "live.js").read_text()
    with Chromium(tmp_path / "profile") as chromium:
        chromium.open(page.path)
        chromium.until("document.querySelectorAll('#films video').length === 1")
        assert chromium.ask("document.body.dataset.error") is None
        assert chromium.ask("document.title") == "50% Onlooker: live"
        assert nasty in chromium.ask("document.querySelector('[data-field=note]').textContent")
        assert chromium.ask("document.querySelectorAll('img').length") == 0
