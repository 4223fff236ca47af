"""The report as files: the page in a real browser, what is written where, packed folders."""

import csv
import gzip
import html.parser
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from browsing import CHROMIUM, browser
from test_report_runs import BOUND, make_run

from onlooker.__main__ import main
from onlooker.errors import UserError
from onlooker.report import load, output, pack
from onlooker.report.build import build
from onlooker.report.gallery import films


def make_results(folder: Path) -> Path:
    """Some of everything."""
    for seed in (0, 1):
        make_run(folder / f"i2l-s{seed}", seed=seed, ret=1234.5678 + seed)
        make_run(folder / f"gail-s-s{seed}", "gail-s", seed=seed, ret=700.25 + seed)
    make_run(folder / "more" / "ppo", "ppo", ret=3000.0)
    make_run(folder / "k1", ret=900.0, options={"elite": {"capacity": 1}})
    make_run(folder / "g0.25", ret=100.0, dynamics="none", world={"gravity": 0.25})
    make_run(folder / "g2", ret=50.0, dynamics="none", world={"gravity": 2.0})
    make_run(folder / "half", seed=9, finished=False)
    (folder / "i2l-s0" / "analysis.json").write_text(json.dumps({"lower_bound": BOUND}))
    (folder / "old").mkdir()
    (folder / "old" / "config.json").write_text('{"format": 0, "version": "0.0.1"}')
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders and the report on them; tests don't change them."""
    folder = make_results(tmp_path_factory.mktemp("page") / "results")
    assert main(["report", str(folder)]) == 0
    return folder


class Dom(html.parser.HTMLParser):
    """Elements of a page: tag, attributes, and the text in table cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[tuple[str, str], tuple[str | None, str]] = {}  # (run, field) -> data-value, text
        self._run, self._field = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements.append((tag, values))
        if tag == "tr":
            self._run = values.get("data-run") or ""
        if tag == "td":
            self._field = values.get("data-field") or ""
            self.cells[self._run, self._field] = (values.get("data-value"), "")

    def handle_data(self, data: str) -> None:
        if self._run and self._field:
            value, text = self.cells[self._run, self._field]
            self.cells[self._run, self._field] = (value, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._field = ""

    @property
    def body(self) -> dict[str, str | None]:
        return next(values for tag, values in self.elements if tag == "body")

    def having(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [v for t, v in self.elements if t == tag and all(v.get(name) == wanted[name] for name in wanted)]


def in_browser(page: Path, tmp_path: Path) -> Dom:
    """The page's DOM after its script ran."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--disable-dev-shm-usage", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "</html>" in shown
    return Dom(shown)


@browser
def test_the_page_in_a_real_browser(results: Path, tmp_path: Path) -> None:
    dom = in_browser(results / "report" / "index.html", tmp_path)
    assert "data-error" not in dom.body
    assert dom.body["data-ready"] == "10"
    assert dom.body["data-partial"] == "true"
    finished = [path for path in results.rglob("result.json") if "report" not in path.parts]
    assert len(finished) == 8
    for path in finished:
        result, run = json.loads(path.read_text()), path.parent.relative_to(results).as_posix()
        names = {"return": "return", "eval_return": "eval_return_mean", "hours": "hours", "seed": "seed"}
        for field, name in names.items():
            value, _ = dom.cells[run, field]
            assert value is not None
            assert float(value) == result[name], (run, field)
        assert dom.cells[run, "return"][1] == f"{result['return']:,.0f}"
        assert (dom.cells[run, "demo_return"][0] is None) == ("demo_return" not in result)
    assert dom.cells["old", "note"][1] == "made by onlooker 0.0.1: its layout is 0, and this version reads 1"
    assert dom.cells["half", "state"][1] == "unfinished"
    charts = dom.having("svg", **{"class": "chart"})
    assert len(charts) > 5
    drawn = dom.having("path", **{"class": "line", "data-label": "I2L"})
    assert drawn
    assert all(re.fullmatch(r"([ML][\d.]+ [\d.]+)+", line["d"] or "") for line in drawn)
    assert dom.having("line", **{"class": "level", "data-label": "PPO"})


@browser
def test_hover_shows_values_and_the_legend_hides_a_method(results: Path, tmp_path: Path) -> None:
    act = """<script>
      const section = document.getElementById("curves");
      section.querySelector(".legend button").click();
      const chart = section.querySelector("svg.chart"), box = chart.getBoundingClientRect();
      const end = { clientX: box.left + box.width * 0.97, clientY: box.top + 40 };
      chart.dispatchEvent(new PointerEvent("pointermove", end));
      const shown = Array.from(chart.querySelectorAll("path.line")).map(line => line.dataset.label);
      document.body.dataset.lines = shown.join("; ");
      document.body.dataset.tip = chart.parentElement.querySelector(".tip").textContent;
    </script></body>"""
    page = tmp_path / "act.html"
    page.write_text((results / "report" / "index.html").read_text().replace("</body>", act))
    dom = in_browser(page, tmp_path)
    assert "data-error" not in dom.body
    assert "I2L" not in (dom.body["data-lines"] or "").split("; ")
    assert "GAIL-S" in (dom.body["data-lines"] or "").split("; ")
    tip = dom.body["data-tip"] or ""
    assert "I2L" not in tip
    assert "GAIL-S 701 ± 0.707" in tip  # 700.25 and 701.25
    assert "demonstration 4,000" in tip
    assert [button["aria-pressed"] for button in dom.having("button")].count("false") == 1


@browser
def test_an_error_of_the_script_is_seen(results: Path, tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text((results / "report" / "index.html").read_text().replace('"lines":', '"limes":'))
    dom = in_browser(page, tmp_path)
    assert "TypeError" in (dom.body["data-error"] or "")
    assert "data-ready" not in dom.body


def test_the_page_needs_nothing_from_elsewhere(results: Path) -> None:
    text = (results / "report" / "index.html").read_text()
    assert "http:" not in text
    assert "https:" not in text
    for tag, values in Dom(text).elements:
        for name in ("src", "href"):
            target = values.get(name) or ""
            assert target.startswith(("#", "figures/")) or not target, (tag, target)
            if target.startswith("figures/"):
                assert (results / "report" / target).is_file()
        assert tag not in ("link", "iframe", "object", "embed")


def test_what_a_report_writes(results: Path) -> None:
    report = results / "report"
    with (report / "tables" / "dynamics-low-gravity.csv").open(newline="") as stream:
        first = next(csv.DictReader(stream))
    assert (first["robot"], first["method"], first["seeds"]) == ("Hopper", "I2L", "2")
    assert float(first["return"]) == 1235.0678
    text = (report / "tables" / "summary.md").read_text()
    assert "1,235 (paper 2,566, below)" in text
    assert "Gym v2 with the MuJoCo of its day" in text
    assert "Partial results of 10 runs: 8 finished, 1 unfinished, 1 unreadable." in text
    for name in (
        "overview",
        "curves-Hopper-low-gravity",
        "capacity-1-Hopper-low-gravity",
        "sweep-Hopper-gravity",
        "bound-i2l-s0",
    ):
        assert (report / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (report / "figures" / f"{name}.svg").read_bytes()


def test_the_same_runs_give_the_same_bytes(results: Path, tmp_path: Path) -> None:
    assert main(["report", str(results), "--out", str(tmp_path / "again")]) == 0
    first = {path.relative_to(results / "report"): path.read_bytes() for path in files_in(results / "report")}
    again = {path.relative_to(tmp_path / "again"): path.read_bytes() for path in files_in(tmp_path / "again")}
    assert first == again


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_packed_folder_rebuilds_the_same_report(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    assert main(["report", str(results), "--pack", str(packed)]) == 0
    names = ["analysis.json", "configs.json", "curves.csv.gz", "packed.json", "runs.csv"]
    assert sorted(path.name for path in packed.iterdir()) == names
    assert main(["report", str(packed)]) == 0
    for path in files_in(results / "report"):
        again = packed / "report" / path.relative_to(results / "report")
        assert again.read_bytes() == path.read_bytes(), path.name

    bytes_before = {name: (packed / name).read_bytes() for name in names}
    assert main(["report", str(results), "--pack", str(packed)]) == 0  # over the old one; its report stays
    assert main(["report", str(packed), "--pack", str(tmp_path / "twice")]) == 0
    for name, content in bytes_before.items():
        assert (packed / name).read_bytes() == content
        assert (tmp_path / "twice" / name).read_bytes() == content


def test_what_is_packed(results: Path, tmp_path: Path) -> None:
    pack(load(results), tmp_path / "packed")
    with (tmp_path / "packed" / "runs.csv").open(newline="") as stream:
        rows = {row["run"]: row for row in csv.DictReader(stream)}
    wanted = (
        "method variant env dynamics seed steps return eval_return demo_return random_return zero_return hours version"
    )
    assert list(rows["i2l-s1"])[:13] == wanted.split()
    assert float(rows["i2l-s1"]["return"]) == 1235.5678
    assert rows["k1"]["variant"] == "elite.capacity=1"
    assert (rows["half"]["state"], rows["half"]["return"], rows["half"]["steps"]) == ("unfinished", "", "10240")
    assert rows["old"]["state"] == "unreadable"
    lines = gzip.decompress((tmp_path / "packed" / "curves.csv.gz").read_bytes()).decode().splitlines()
    assert lines[0] == "run,steps,return,wasserstein,episode_length,elite_score_mean,entropy,forward_speed"
    assert "gail-s-s0,20480,700.25,,500,,0.1," in lines
    configs = json.loads((tmp_path / "packed" / "configs.json").read_text())
    assert configs["i2l-s0"] == json.loads((results / "i2l-s0" / "config.json").read_text())
    assert json.loads((tmp_path / "packed" / "analysis.json").read_text()) == {"i2l-s0": {"lower_bound": BOUND}}


def test_two_hundred_long_runs_pack_small(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a", budget={"steps": 5_000_000})
    for seed in range(1, 20):
        copy = shutil.copytree(run, tmp_path / "runs" / f"{seed}")
        config = json.loads((copy / "config.json").read_text())
        config["budget"]["seed"] = seed
        (copy / "config.json").write_text(json.dumps(config))
    runs = load(tmp_path / "runs")
    assert all(len(run.curve["steps"]) == 200 for run in runs)
    pack(runs, tmp_path / "packed")
    assert sum(path.stat().st_size for path in (tmp_path / "packed").iterdir()) * 10 < 10e6


def test_packed_runs_are_found_beside_run_folders(tmp_path: Path) -> None:
    make_run(tmp_path / "elsewhere" / "a", seed=0)
    pack(load(tmp_path / "elsewhere"), tmp_path / "results" / "packed")
    make_run(tmp_path / "results" / "b", seed=1)
    make_run(tmp_path / "results" / "packed" / "c", seed=2)
    make_run(tmp_path / "results" / "z" / "a", seed=0)  # what was packed is there too: the run folder counts
    assert [(run.name, run.state) for run in load(tmp_path / "results")] == [
        ("b", "finished"),
        ("packed/a", "duplicate"),
        ("packed/c", "finished"),
        ("z/a", "finished"),
    ]


def test_runs_that_were_packed_before_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "monday" / "a", ret=1.0)
    make_run(tmp_path / "monday" / "b", seed=1, ret=2.0, options={"elite": {"capacity": 7}})
    make_run(tmp_path / "monday" / "c", seed=2, finished=False)
    make_run(tmp_path / "tuesday" / "b", seed=1, finished=False)  # begun again: what is finished is not given up for it
    make_run(tmp_path / "tuesday" / "c", seed=2, ret=3.0)
    make_run(tmp_path / "tuesday" / "d", seed=3, ret=4.0)
    for day in ("monday", "tuesday"):
        assert main(["report", str(tmp_path / day), "--pack", str(tmp_path / "packed")]) == 0
    assert "4 runs are packed" in capsys.readouterr().out
    found = {run.name: (run.state, run["return"], run.variant) for run in load(tmp_path / "packed")}
    assert found == {
        "a": ("finished", 1.0, "elite.capacity=5"),
        "b": ("finished", 2.0, "elite.capacity=7"),
        "c": ("finished", 3.0, "elite.capacity=5"),
        "d": ("finished", 4.0, "elite.capacity=5"),  # beside b, which lies elsewhere, it needs a name too
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("packed.json", '{"format": 9}'),
        ("configs.json", "{"),
        ("curves.csv.gz", "no gzip"),
        ("runs.csv", "run,state\na,finished\n"),
    ],
)
def test_a_damaged_packed_folder_is_a_user_error(tmp_path: Path, name: str, text: str) -> None:
    make_run(tmp_path / "runs" / "a")
    pack(load(tmp_path / "runs"), tmp_path / "packed")
    (tmp_path / "packed" / name).write_text(text)
    with pytest.raises(UserError, match="packed is no packed folder that can be read"):
        load(tmp_path / "packed")


def test_only_what_a_report_wrote_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path / "runs" / "a")
    out = tmp_path / "out"
    output.write(out, {"old/file.txt": b"old", "index.html": b"old"})
    (out / "index.html").write_bytes(b"changed")
    output.write(out, {"index.html": b"new"})
    assert sorted(path.name for path in out.iterdir()) == [output.MARK, "index.html"]
    assert (out / "index.html").read_bytes() == b"new"

    (out / "thesis.txt").write_text("mine")
    assert main(["report", str(tmp_path / "runs"), "--out", str(out)]) == 2
    assert "holds thesis.txt, which no report wrote" in capsys.readouterr().err
    assert (out / "thesis.txt").read_text() == "mine"
    assert (out / "index.html").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["empty"], "there are no runs in empty"),
        (["runs", "--pack", "runs"], "--pack runs is the folder that is read"),
        (["runs", "--pack", "foreign"], "foreign is there already and was not packed by a report"),
        (["runs", "--pack", "p", "--out", "o"], "choose one of --out and --pack"),
        (["runs", "--out", "foreign/file"], "foreign/file is no folder"),
    ],
)
def test_bad_words_are_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "runs" / "a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "file").write_text("mine")
    assert main(["report", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert files_in(tmp_path / "foreign") == [tmp_path / "foreign" / "file"]


def test_a_report_on_nothing_but_broken_runs_is_still_a_report(tmp_path: Path) -> None:
    make_run(tmp_path / "a", finished=False)
    (tmp_path / "a" / "metrics.csv").write_text("")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "config.json").write_text("")
    page = build(load(tmp_path), tmp_path / "report").read_text()
    assert "<b>Partial results.</b> 2 runs: 1 unfinished, 1 unreadable." in page
    assert "No run is finished yet." in page
    assert "NaN" not in page.split('id="data">')[1].split("</script>")[0]


def test_names_can_not_break_the_page(tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script>&\"'"
    make_run(tmp_path / "a", method=nasty, result={"return": math.inf})
    page = build(load(tmp_path), tmp_path / "report").read_text()
    assert "<script>alert" not in page
    assert page.count("</script>") == 2


def test_small_films_are_copied_and_large_ones_linked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "a run")
    (run / "video.mp4").write_bytes(b"film")
    (run / "large.gif").write_bytes(bytes(6_000_000))
    (run / "curve.png").write_bytes(b"picture")
    markup, copies = films(load(tmp_path / "runs"), tmp_path / "out")
    assert copies == {"videos/a-run-video.mp4": run / "video.mp4"}
    assert 'src="videos/a-run-video.mp4"' in markup
    assert 'href="../runs/a%20run/large.gif"' in markup
    page = build(load(tmp_path / "runs"), tmp_path / "out")
    assert (page.parent / "videos" / "a-run-video.mp4").read_bytes() == b"film"
