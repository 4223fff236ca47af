"""The site builds without a warning and has what it should; links work on a code host too; the notebook runs."""

import html
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onlooker
from onlooker.__main__ import main
from onlooker.methods import METHODS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTEBOOK = DOCS / "first-steps.ipynb"
PAGES = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
MISSING = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it, without the report: that takes half a minute and has tests of its own."""
    if MISSING:
        pytest.skip(f"the site needs pip install 'onlooker[docs]': there is no {', '.join(MISSING)}")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--builder", "html"]
    built = subprocess.run([*command, DOCS, out], capture_output=True, text=True, timeout=300)
    assert (built.returncode, built.stderr) == (0, "")
    return out


def test_every_page_is_there_and_filled_in(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        shown = (site / page.relative_to(DOCS)).with_suffix(".html").read_text()
        assert "<!-- site:" not in shown, page
    assert "report/index.html" in (site / "results.html").read_text()
    assert "--elite.order" in (site / "changelog.html").read_text()
    assert 'href="changelog.html"' in (site / "results.html").read_text()
    assert list((site / "_downloads").rglob(NOTEBOOK.name))


def rows(page: Path) -> dict[str, list[tuple[str, ...]]]:
    """Cells of a page's tables as plain text, behind what stands in the first column."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for row in re.findall(r"<tr.*?>(.*?)</tr>", page.read_text(), re.S):
        cells = [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", row, re.S)]
        cells = [" ".join(cell.split()) for cell in cells]
        if cells:
            found.setdefault(cells[0], []).append(tuple(cells[1:]))
    return found


def test_options_have_their_defaults_and_bounds(site: Path) -> None:
    found = rows(site / "options.html")
    assert found["--elite.capacity"] == [("5", "whole, from 1 to 1000", "How many episodes it holds.")]
    deviation = "0 (i2l, bco, bc, ppo), -0.5 (gail-s, gaifo, gail-sa, airl)"
    assert found["--policy.log-std-init"] == [(deviation, "a number", "The log standard deviation at the start.")]
    assert found["--elite.order"][0][:2] == ("sum-and-length", "sum, mean, sum-and-length")
    assert found["--critic.hidden"] == [("64 64 64", "up to 16 numbers from 1 to 4096", "Hidden layers.")]
    assert [row[0] for row in found["--discriminator.reward"]] == ["f", "softplus"]
    assert found["i2l"][0][:2] == ("states", "8")


def test_the_site_has_just_the_options_that_help_has(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known: set[str] = set()
    for method in METHODS:
        with pytest.raises(SystemExit):
            main(["train", method, "--help"])
        known |= set(re.findall(r"^\W*(--[a-z][\w.-]+)", capsys.readouterr().out, re.M))
    found = rows(site / "options.html")
    assert {name for name in found if name.startswith("--")} == known


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    shown = (site / "api.html").read_text()
    for module in (onlooker, onlooker.demos, onlooker.report, __import__("onlooker.parts").parts):
        for name in set(module.__all__) - {"__version__", "demos", "report", "shipped"}:
            assert f'id="{module.__name__}.{name}"' in shown, f"{module.__name__}.{name}"


def anchors(page: Path) -> set[str]:
    """Those that code hosts make of headings."""
    headings = re.findall(r"^#+ (.+)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, NOTEBOOK], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_work_on_a_code_host(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_notebook_runs(tmp_path: Path) -> None:
    """Its cells, one behind the other, in a Python of their own.

    They are plain Python: that tells whether they work, without a kernel and the dozens of packages that it brings.
    """
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(code)],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert "nothing is odd about it" in ran.stdout
    (result,) = (json.loads(path.read_text()) for path in tmp_path.glob("runs/*/result.json"))
    assert result["eval_return_mean"] > result["random_return"]
    by_hand = re.search(r"one episode by hand earns (-?\d+)", ran.stdout)
    assert by_hand is not None
    assert int(by_hand[1]) > result["random_return"]


def test_the_notebook_is_committed_without_what_it_printed() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    kept = [(cell["outputs"], cell["execution_count"]) for cell in cells if cell["cell_type"] == "code"]
    assert kept == [([], None)] * len(kept)
    assert len(kept) > 5
