"""One bad run, or a folder that someone meant ill with: it is named and left out, and the others are read."""

import gzip
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_report_runs import BOUND, make_run

from onlooker.__main__ import main
from onlooker.errors import UserError
from onlooker.report import Run, load, output, pack
from onlooker.report.build import build
from onlooker.report.figures import fresh, slug
from onlooker.report.gallery import films

ROOT = Path(__file__).parent.parent
DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
ESCAPE = "\x1b]0;title\x07\x1b[31m \ud800\u202e"


def bad(results: Path) -> Run:
    """The run `bad`, read beside a good one."""
    make_run(results / "good", seed=77)
    found = {run.name: run for run in load(results)}
    assert (found["good"].state, found["good"].note) == ("finished", "")
    return found["bad"]


def replaced(path: Path, make: Callable[[Path], Any]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def sparse(path: Path, size: int = 1 << 30) -> None:
    with path.open("wb") as stream:
        stream.truncate(size)


ODD_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a folder": (Path.mkdir, "is no plain file"),
    "a pipe": (os.mkfifo, "is no plain file"),
    "a link to itself": (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "is missing"),
    "a gigabyte": (sparse, "has 1,073,741,824 bytes, and"),
}
ODD_JSON: dict[str, tuple[bytes, str]] = {
    "deep": (DEEP.encode(), "is no JSON (it is nested too deep)"),
    "rather deep": (b'{"a":' * 60 + b"1" + b"}" * 60, "is nested deeper than 50"),
    "a large number": (b'{"a": 1' + b"0" * 400 + b"}", "holds a whole number of more than 64 bits"),
    "an endless number": (b'{"a": 1' + b"0" * 5000 + b"}", "is no JSON"),
    "no UTF-8": (b'{"a": "\xff"}', "is no JSON"),
    "an archive": (b"PK\x03\x04\xff\xfe\x00", "is no JSON"),
    "a list": (b"[]", "holds no JSON object"),
}


@pytest.mark.parametrize("odd", ODD_FILES)
@pytest.mark.parametrize("name", ["config.json", "result.json", "analysis.json", "metrics.csv", "timing.csv"])
def test_an_odd_file_is_named_and_the_others_are_read(tmp_path: Path, name: str, odd: str) -> None:
    folder = make_run(tmp_path / "bad")
    make, said = ODD_FILES[odd]
    replaced(folder / name, make)
    run = bad(tmp_path)
    assert name in run.note
    assert said in run.note
    assert run.state == ("unreadable" if name in ("config.json", "result.json") else "finished")


@pytest.mark.parametrize("odd", ODD_JSON)
@pytest.mark.parametrize("name", ["config.json", "result.json", "analysis.json"])
def test_odd_json_is_named_and_the_others_are_read(tmp_path: Path, name: str, odd: str) -> None:
    content, said = ODD_JSON[odd]
    (make_run(tmp_path / "bad") / name).write_bytes(content)
    run = bad(tmp_path)
    assert f"{name} {said}" in run.note
    assert run.state == ("finished" if name == "analysis.json" else "unreadable")


def test_a_cell_of_two_hundred_thousand_letters_is_one_line_less(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "bad")
    whole = load(tmp_path)[0].curve["return"]
    for name in ("metrics.csv", "timing.csv"):
        with (folder / name).open("a") as stream:
            stream.write('"' + "1" * 200_000 + ",2,3\n")
    run = bad(tmp_path)
    assert run.note == "metrics.csv: 1 line not whole, left out; timing.csv: 1 line not whole, left out"
    assert run.curve["return"][1:].tolist() == whole[1:].tolist()


@pytest.mark.parametrize("header", ["a,b", "steps,b", "seconds,b", "\xff,\0"])
def test_timing_and_metrics_of_other_columns_are_named(tmp_path: Path, header: str) -> None:
    folder = make_run(tmp_path / "bad", finished=False)
    for name in ("metrics.csv", "timing.csv"):
        (folder / name).write_bytes(f"{header}\n1,2\n3,4\n".encode("latin-1"))
    run = bad(tmp_path)
    assert "timing.csv has no column iteration" in run.note
    assert ("metrics.csv has no column steps" in run.note) == ("steps" not in header)
    assert run.state == "unfinished"


def test_numbers_beyond_reckoning_count_as_none(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "bad", result={"return": 1e308, "hours": float("inf"), "demo_return": -1e300})
    (folder / "metrics.csv").write_text("steps,return\n1e300,5\n10,1e308\n20,-inf\n30,7\n")
    (folder / "analysis.json").write_text(json.dumps({"lower_bound": BOUND | {"w1": [1e308, float("nan")]}}))
    run = bad(tmp_path)
    assert run.curve["steps"].tolist() == [10.0, 20.0, 30.0]
    assert run.curve["return"].tolist()[2:] == [7.0]
    assert [str(run[name]) for name in ("return", "demo_return")] == ["nan", "nan"]
    assert run.note == "metrics.csv: 1 line not whole, left out; result.json has no return"
    build(load(tmp_path), tmp_path / "report")


def test_logs_and_films_that_are_no_files_are_passed_over(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "bad", finished=False)
    os.mkfifo(folder / "log.txt")
    os.mkfifo(folder / "a.mp4")
    (folder / "b.mp4").symlink_to("b.mp4")
    (folder / "c.gif").mkdir()
    (folder / "d.mp4").symlink_to("nothing")
    (folder / "e\x1b\n.mp4").write_bytes(b"film")
    run = bad(tmp_path)
    assert run.note == "10,240 of 20,480 steps"
    markup, copies = films([run], tmp_path / "report")
    assert copies == {"videos/bad-e.mp4": folder / "e\x1b\n.mp4"}
    assert "bad/e\\x1b\\x0a.mp4" in markup


def test_a_log_of_any_size_is_read_from_its_end(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "bad", finished=False)
    sparse(folder / "log.txt")
    with (folder / "log.txt").open("a") as stream:
        stream.write("\nValueError: \x1b[31mno good\n")
    run = bad(tmp_path)
    assert (run.state, run.note) == ("failed", "10,240 of 20,480 steps; ValueError: \\x1b[31mno good")


def test_links_in_a_circle_and_very_deep_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "r" / "a")
    (tmp_path / "r" / "up").symlink_to(tmp_path)
    (tmp_path / "r" / "self").symlink_to("self")
    monkeypatch.chdir(tmp_path / "r")
    depth = 1200  # deeper than Python's recursion
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    found = [run.name for run in load(tmp_path / "r")]
    for _ in range(depth):  # what cleans up after tests could not go so deep
        os.chdir("..")
        os.rmdir("d")
    assert found == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "bad")
    (folder / "config.json").chmod(0)
    (tmp_path / "shut").mkdir(mode=0)
    assert bad(tmp_path).note == "can't read config.json: Permission denied"
    shut = next(run for run in load(tmp_path) if run.name == "shut")
    assert (shut.state, shut.note) == ("unreadable", "can't read the folder: Permission denied")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DEEP, "grid.json is no JSON (it is nested too deep)"),
        ('{"cells": [1]}', "grid.json names no cells"),
        ('{"cells": 3}', "grid.json names no cells"),
    ],
)
def test_a_grid_that_can_not_be_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    make_run(tmp_path / "a")
    (tmp_path / "grid.json").write_text(text)
    found = {run.name: (run.state, run.note) for run in load(tmp_path)}
    assert found == {"a": ("finished", ""), "grid.json": ("unreadable", said)}


def packed(folder: Path) -> Path:
    """Two packed runs, a and b, beside a run folder."""
    make_run(folder / "runs" / "a", seed=0)
    make_run(folder / "runs" / "b", seed=1)
    pack(load(folder / "runs"), folder / "results" / "packed")
    make_run(folder / "results" / "good", seed=2)
    return folder / "results" / "packed"


def write_gzip(path: Path, start: bytes, more: bytes, times: int) -> None:
    with gzip.open(path, "wb", 1) as stream:
        stream.write(start)
        for _ in range(times):
            stream.write(more)


HEADER = b"run,steps,return,wasserstein,episode_length,elite_score_mean,entropy\n"
BOMBS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "one long line": (lambda path: write_gzip(path, HEADER, bytes(1 << 20), 80), "field larger than field limit"),
    "long lines": (
        lambda path: write_gzip(path, HEADER, b"a,1" + b"," * (1 << 19) + b"\n", 150),
        "curves.csv.gz unpacks to more than 67,108,864 bytes",
    ),
    "many rows": (lambda path: write_gzip(path, HEADER, b"a,1,1,1,1,1,1\n" * 1000, 1000), "more than 200 rows a run"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:200]), "holds no curves that can be read"),
    "a pipe": (lambda path: replaced(path, os.mkfifo), "curves.csv.gz is no plain file"),
    "a gigabyte": (sparse, "curves.csv.gz has 1,073,741,824 bytes, and 67,108,864 are allowed"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_packed_bomb_is_named_and_left_out(tmp_path: Path, bomb: str) -> None:
    folder = packed(tmp_path)
    make, said = BOMBS[bomb]
    make(folder / "curves.csv.gz")
    found = {run.name: run for run in load(tmp_path / "results")}
    assert {name: run.state for name, run in found.items()} == {"good": "finished", "packed": "unreadable"}
    assert said in found["packed"].note


@pytest.mark.parametrize("name", ["configs.json", "analysis.json", "runs.csv", "packed.json"])
@pytest.mark.parametrize("odd", ODD_FILES)
def test_odd_packed_files_are_named(tmp_path: Path, name: str, odd: str) -> None:
    folder = packed(tmp_path)
    replaced(folder / name, ODD_FILES[odd][0])
    found = {run.name: run for run in load(tmp_path / "results")}
    assert found["good"].state == "finished"
    if name != "packed.json" or odd == "a gigabyte":  # without that, the folder is no packed one
        assert ODD_FILES[odd][1] in found["packed"].note


def change_config(folder: Path, name: str, config: Any) -> None:
    configs = json.loads((folder / "configs.json").read_text())
    configs[name] = config
    kept = {key: value for key, value in configs.items() if value is not None}
    (folder / "configs.json").write_text(json.dumps(kept))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: change_config(folder, "a", [1]), "its config is no JSON object"),
        (lambda folder: change_config(folder, "a", None), "configs.json has no config of it"),
        (lambda folder: change_config(folder, "a", {"format": 7}), "its layout is 7"),
        (lambda folder: swap(folder / "runs.csv", "finished", "\x1b[31m"), "runs.csv calls it '\\\\x1b[31m'"),
        (lambda folder: swap(folder / "runs.csv", "20480", "many"), "'many'"),
    ],
)
def test_one_bad_packed_run_is_left_out_and_never_packed_over(
    tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    folder = packed(tmp_path)
    change(folder)
    found = {run.name: run for run in load(tmp_path / "results")}
    assert {name: run.state for name, run in found.items()} == {
        "good": "finished",
        "packed/a": "unreadable",
        "packed/b": "finished",
    }
    assert said in found["packed/a"].note
    with pytest.raises(UserError, match=r"can't add to the packed folder .*packed: a: "):
        pack(load(tmp_path / "runs"), folder)


def swap(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new, 1))


def test_nothing_that_moves_a_terminal_is_printed_or_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    os.makedirs(os.fsencode(results) + b"/byte-\xff")
    (results / os.fsdecode(b"byte-\xff") / "config.json").write_text("{")
    make_run(results / "line\nbreak\x1b[2J", seed=1)
    make_run(results / "method", method=f"{ESCAPE} $\\frac{{ |*<b>", seed=2)
    make_run(results / "env", env=ESCAPE, seed=3, world={"env_kwargs": {ESCAPE: ESCAPE}})
    make_run(results / "options", seed=4, options={ESCAPE: {ESCAPE: ESCAPE}}, version=ESCAPE)
    (make_run(results / "config", seed=5) / "config.json").write_text(json.dumps({"format": ESCAPE, "version": ESCAPE}))
    failed = make_run(results / "failed", seed=6, finished=False)
    (failed / "log.txt").write_text("ValueError: \x1b[31m\x07\n")
    (results / "grid.json").write_text(json.dumps({"cells": [ESCAPE]}))
    for words in (["--out", str(tmp_path / "out")], ["--pack", str(tmp_path / "packed")]):
        assert main(["report", str(results), *words]) == 0
    said = capsys.readouterr()
    assert "left out byte-\\udcff: config.json is no JSON" in said.err
    assert "left out config: made by onlooker \\x1b]0;title\\x07" in said.err
    assert len(load(tmp_path / "packed")) == len(load(results))
    texts = [said.out, said.err]
    for folder in (tmp_path / "out", tmp_path / "packed"):
        files = [path for path in folder.rglob("*") if path.suffix in (".html", ".md", ".csv", ".json", ".svg")]
        assert all(path.name.isprintable() for path in files)
        texts += [path.read_text(encoding="utf-8") for path in files]
    for text in texts:
        assert {letter for letter in text if not letter.isprintable()} <= {"\n"}


def test_file_names_are_short_and_their_own() -> None:
    assert slug("curves-Hopper, gravity 0.5") == "curves-Hopper-gravity-0.5"
    assert slug(" .. ") == slug("") == "unnamed"
    assert len(slug("\u6f22" * 5000).encode()) <= 180
    assert fresh("a", {"b"}) == "a"
    assert fresh("a", {"a", "a-2"}) == "a-3"


def test_figures_whose_names_are_alike_keep_their_own_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_drawn(monkeypatch)
    for seed, name in enumerate(("a b", "a-b", "x" * 200 + "1", "x" * 200 + "2")):
        folder = make_run(tmp_path / name, seed=seed)
        bound = BOUND | {"expert_f": [float(seed)] * 2}
        (folder / "analysis.json").write_text(json.dumps({"lower_bound": bound}))
    page = build(load(tmp_path), tmp_path / "report").read_text()
    panels = json.loads(page.split('id="data">')[1].split("</script>")[0])["panels"]
    drawn = [panel["lines"][0]["y"][0] for name, panel in panels.items() if panel["y"] == "f"]
    assert sorted(drawn) == [0.0, 1.0, 2.0, 3.0]


def test_no_report_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "out"
    output.write(out, {"index.html": b"old"})
    (out / "tables").symlink_to(tmp_path / "elsewhere")
    (out / output.MARK).write_text('["index.html", "tables"]')
    with pytest.raises(UserError, match="holds tables, which no report wrote"):
        output.write(out, {"tables/a.md": b"new"})
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UserError, match="loop is no folder"):
        output.check(tmp_path / "loop")


def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is slow, and tested elsewhere."""
    monkeypatch.setattr("onlooker.report.build.draw", lambda panel: {})
    monkeypatch.setattr("onlooker.report.build.draw_row", lambda panels, name: {})
    monkeypatch.setattr("onlooker.report.build.overview", lambda found: {})


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
PLACES: tuple[tuple[str, ...], ...] = (
    *(("config.json", part) for part in ("format", "version", "method", "options", "world", "budget")),
    *(("config.json", "world", name) for name in ("env", "env_kwargs", "max_episode_steps", "dynamics", "gravity")),
    *(("config.json", "world", name) for name in ("density", "wind")),
    *(("config.json", "budget", name) for name in ("steps", "seed", "steps_per_iteration", "num_envs")),
    *(("config.json", "options", *names) for names in (("elite",), ("elite", "capacity"), ("ppo",), ("ppo", "trace"))),
    *(("result.json", name) for name in ("return", "steps", "hours", "demo_return", "eval_return_mean")),
    ("analysis.json", "lower_bound"),
    *(("analysis.json", "lower_bound", name) for name in ("iteration", "w1", "exact_w1", "f_from")),
)


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(PLACES), ANYTHING)
def test_a_wrong_value_anywhere_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[str, ...], value: Any
) -> None:
    nothing_drawn(monkeypatch)
    monkeypatch.setattr(output, "write", lambda folder, contents: None)
    folder = tmp_path / "results" / "bad"
    if not folder.exists():
        make_run(tmp_path / "results" / "good", seed=7)
        make_run(tmp_path / "results" / "one", options={"elite": {"capacity": 1}})
        make_run(folder)
        (folder / "analysis.json").write_text(json.dumps({"lower_bound": BOUND}))
    name, *inner, last = place
    text = (folder / name).read_text()
    data = part = json.loads(text)
    for step in inner:
        part = part[step]
    part[last] = value
    (folder / name).write_text(json.dumps(data))
    runs = load(tmp_path / "results")
    assert {run.name for run in runs} == {"bad", "good", "one"}
    assert next(run for run in runs if run.name == "good").state == "finished"
    build(runs, tmp_path / "out")
    (folder / name).write_text(text)


def test_what_is_no_python_lies_in_the_wheel_too() -> None:
    package = ROOT / "src" / "onlooker"
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["onlooker"]
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    needed = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert needed <= shipped
    assert package / "report" / "page.js" in needed
