"""What is compiled is kept for the next run: where, how much, and not at all if the user says so."""

import os
import subprocess
import sys
import time
from pathlib import Path

import jax
import pytest

from onlooker.learning import compiled

RUN = """
import sys
import jax, jax.numpy as jnp
from onlooker.learning.compiled import keep_compiled
keep_compiled()
jax.jit(lambda x: x * 2 + 1)(jnp.ones(3)).block_until_ready()
print(jax.config.jax_compilation_cache_dir)
"""


def start(**variables: str) -> subprocess.CompletedProcess:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "ONLOOKER_"))}
    line = [sys.executable, "-W", "default", "-c", RUN]
    return subprocess.run(line, env=inherited | variables, text=True, capture_output=True, check=True)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_programs_are_kept_in_the_users_cache_folder(tmp_path: Path) -> None:
    said = start(XDG_CACHE_HOME=str(tmp_path)).stdout.strip()
    assert Path(said).parent == tmp_path / "onlooker" / "compiled"
    assert [path.parent for path in kept(tmp_path)] == [Path(said)] * len(kept(tmp_path))
    assert kept(tmp_path)


def test_the_user_has_the_last_word(tmp_path: Path) -> None:
    assert start(XDG_CACHE_HOME=str(tmp_path), ONLOOKER_CACHE="off").stdout == "None\n"
    assert not kept(tmp_path)
    own = tmp_path / "own"
    assert start(XDG_CACHE_HOME=str(tmp_path), JAX_COMPILATION_CACHE_DIR=str(own)).stdout == f"{own}\n"
    elsewhere = tmp_path / "elsewhere"
    assert Path(start(ONLOOKER_CACHE=str(elsewhere)).stdout.strip()).parent == elsewhere


def test_a_folder_that_can_not_be_made_or_a_torn_program_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert start(ONLOOKER_CACHE=str(tmp_path / "file")).stdout == "None\n"
    start(ONLOOKER_CACHE=str(tmp_path))
    programs = [path for path in kept(tmp_path) if path.name.endswith("-cache")]
    for path in programs:
        path.write_bytes(path.read_bytes()[:50])
    assert programs
    assert start(ONLOOKER_CACHE=str(tmp_path)).stderr == ""


def test_the_oldest_go_first_and_nothing_stays_for_ever(tmp_path: Path) -> None:
    now = time.time()
    for name, age in (("new", 10), ("older", 20), ("oldest", 30)):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (now - age, now - age))
    compiled.prune(tmp_path, most=250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "older"]
    os.utime(tmp_path / "new", (now - 1.1 * compiled.OLDEST,) * 2)
    compiled.prune(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["older"]


def test_what_jax_was_told_before_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = jax.config.values["jax_compilation_cache_dir"]
    monkeypatch.delenv("ONLOOKER_CACHE", raising=False)
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        compiled.keep_compiled()
        assert jax.config.values["jax_compilation_cache_dir"] == str(tmp_path)
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
