"""Recordings made to break things: metadata, doubled members, flags that contradict, files larger than memory."""

import json
import os
import re
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from onlooker.__main__ import main
from onlooker.demos import Demos, from_minari, load, plot, save, shipped, to_minari
from onlooker.errors import UserError, printable

OBS = np.arange(8.0).reshape(4, 2)
EVIL = "a\x1b[31m\x07\ud800$\\frac{"  # terminal escapes, a bell, half a character, half a formula
DOCS = Path(__file__).parents[1] / "docs"


def with_meta(path: Path, meta: str) -> Path:
    np.savez_compressed(path, obs=OBS, meta=np.array(meta))
    return path


def refused(path: Path, message: str) -> None:
    """One line, without control characters, before 50 MB are taken."""
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=message) as error:
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
        assert printable(str(error.value)) == str(error.value)
    finally:
        tracemalloc.stop()


# ----------------------------------------------------------------------------------------------------------- metadata


def test_metadata_is_never_shown_raw(tmp_path, capsys):
    meta = {"env": EVIL, EVIL: [EVIL], "returns": [1.0]}
    path = with_meta(tmp_path / "x.npz", json.dumps(meta))
    assert load(path).meta == meta  # kept as it is
    for words in (["show", str(path), "--out", str(tmp_path / "x.png")], ["check", str(path)]):
        main(["demos", *words])
        said = "".join(capsys.readouterr())
        assert said
        assert all(printable(line) == line for line in said.splitlines())
    assert main(["demos", "show", str(path), "--out", str(tmp_path / "x.png")]) == 0
    assert r"a\x1b[31m\x07\ud800" in capsys.readouterr().out
    assert plot(load(path), tmp_path / "y.png").stat().st_size > 1000


def test_names_of_unknown_parts_are_never_shown_raw(tmp_path):
    parts: Any = {"a\x1b[31m": OBS, **{f"k{i}": OBS[:1] for i in range(50)}}
    np.savez_compressed(tmp_path / "x.npz", obs=OBS, **parts)
    (tmp_path / "x.csv").write_text("obs_0,a\x1b[31m\n1,2\n2,3\n")
    for name in ("x.npz", "x.csv"):
        with pytest.warns(UserWarning, match=r"ignored unknown keys: a\\x1b\[31m") as caught:
            load(tmp_path / name)
        assert len(str(caught[0].message)) < 300


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "meta is not a JSON string|nests more than 50 deep"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "meta is not a JSON string|nests more than 50 deep"),
        ('{"a":' + "[" * 60 + "]" * 60 + "}", "meta nests more than 50 deep"),
        ("[1, 2]", "meta is a list"),
        ('"text"', "meta is a str"),
        (json.dumps({"a": "x" * 2**21}), r"meta holds 2,097,\d+ characters; the limit is 1,048,576"),
        ('{"a": ' + "9" * 10_000 + "}", "meta is not a JSON string"),
    ],
)
def test_metadata_out_of_measure_is_refused(tmp_path, meta, message):
    refused(with_meta(tmp_path / "x.npz", meta), message)


@pytest.mark.parametrize("value", ["1" + "0" * 400, "-1e999", "NaN", "true, 1", "[1]"])
def test_returns_out_of_measure_are_none(tmp_path, value, capsys):
    path = with_meta(tmp_path / "x.npz", f'{{"returns": [{value}], "env": {{"a": 1}}}}')
    assert load(path).returns() is None
    assert main(["demos", "check", str(path)]) == 0
    assert main(["demos", "show", str(path), "--out", str(tmp_path / "x.png")]) == 0


# -------------------------------------------------------------------------------------------------------- double, torn


@pytest.mark.parametrize("second", ["obs.npy", "obs"])
def test_two_members_of_one_name_are_refused(tmp_path, second):
    np.savez(tmp_path / "x.npz", obs=OBS)
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own, of the doubled name
        archive.writestr(second, archive.read("obs.npy"))
    refused(tmp_path / "x.npz", "'obs' is there twice")


@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_flags_that_contradict_lengths_are_refused(name):
    with pytest.raises(UserError, match=f"{name} is true at row 1, but by lengths the episode goes on to row 2"):
        load({"obs": OBS, "lengths": [3, 1], name: [0, 1, 0, 1]})
    assert load({"obs": OBS, "lengths": [3, 1], name: [0, 0, 1, 0]}).lengths.tolist() == [3, 1]


def test_nan_is_named_with_its_row_and_column(tmp_path):
    cases: list[tuple[dict[str, Any], str]] = [
        ({"terminated": [0, 0, np.nan, 0]}, "terminated must be .* it is nan at row 2"),
        ({"truncated": [0, 7, 0, 0]}, "truncated must be .* it is 7 at row 1"),
        ({"action": [[0, 0], [0, np.nan], [0, 0], [0, 0]]}, "action is NaN at row 1, column 1"),
    ]
    for parts, message in cases:
        with pytest.raises(UserError, match=message):
            load({"obs": OBS, **parts})
    (tmp_path / "x.csv").write_text("obs_0,episode\n1,0\n2,nan\n3,nan\n")
    refused(tmp_path / "x.csv", "episode is nan at row 1, column 1")


# -------------------------------------------------------------------------------------------------- larger than memory


def sparse(path: Path, size: int, start: bytes = b"") -> Path:
    """A file that claims `size` bytes and takes none of the disk but for its start."""
    path.write_bytes(start)
    os.truncate(path, size)
    return path


def test_a_table_larger_than_memory_is_refused_unread(tmp_path):
    refused(sparse(tmp_path / "x.csv", 2**30), "a table of 1,024 MiB; the limit is 512 MiB")
    refused(sparse(tmp_path / "x.csv", 2**28), "line 1 is longer than 1,048,576 characters")
    refused(sparse(tmp_path / "x.csv", 2**28, b"1,2\n3,4\n"), "line 3 is longer than 1,048,576 characters")


def test_a_sparse_npz_is_refused_by_what_the_disk_holds(tmp_path):
    path = tmp_path / "x.npz"
    size = 2**30
    with open(path, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
        np.lib.format.write_array_header_1_0(
            member := archive.open("obs.npy", "w", force_zip64=True),
            {"descr": "<f4", "fortran_order": False, "shape": (size // 16, 4)},
        )
        member.write(bytes(1000))
        stream.seek(size, os.SEEK_CUR)  # a hole
        member._file_size += size  # type: ignore[attr-defined]
        member.close()
    if path.stat().st_blocks * 512 > 2**26:
        pytest.skip("this file system keeps no holes")
    refused(path, "unpacks to 1,024 MiB from 0.0 MiB; the limits are 2,048 MiB and 200 to 1")


def test_hdf5_bombs_are_refused_unread(tmp_path):
    with h5py.File(tmp_path / "hole.h5", "w") as file:  # contiguous, never written
        file.create_dataset("obs", (2**26, 4), "f4")
        file["obs"][-1] = 1
    refused(tmp_path / "hole.h5", "unpacks to 1,024 MiB from 0.. MiB; the limits are")
    with h5py.File(tmp_path / "chunk.h5", "w") as file:  # 4 rows in use of a chunk of 1 GiB
        file.create_dataset("obs", (4, 4), "f4", chunks=(2**26, 4), maxshape=(None, 4), compression="gzip")
    refused(tmp_path / "chunk.h5", "unpacks to 1,024 MiB")


# ------------------------------------------------------------------------------------------------------------- Minari


@pytest.mark.filterwarnings("ignore")
def test_minari_datasets_made_to_break_things(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    states = np.random.default_rng(0).normal(size=(4, 3))
    demos = Demos(states, action=np.zeros((4, 1)), next_obs=np.roll(states, -1, axis=0))
    to_minari(demos, "x-v0", "Pendulum-v1")
    data = tmp_path / "x-v0" / "data"
    about = json.loads((data / "metadata.json").read_text())

    # Without spaces, Minari would make the environment: it would import and call whatever the file names.
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = json.loads(about["env_spec"]) | {"entry_point": "trap:Env"}
    hostile = {key: value for key, value in about.items() if key != "observation_space"}
    (data / "metadata.json").write_text(json.dumps(hostile | {"env_spec": json.dumps(spec)}))
    refused(data, "tells no spaces")
    assert not (tmp_path / "executed").exists()

    (data / "metadata.json").write_text(json.dumps(about))
    assert from_minari("x-v0").obs.shape == (4, 3)
    with h5py.File(data / "main_data.hdf5", "a") as file:
        file["episode_0/infos"] = h5py.ExternalLink("elsewhere.h5", "/secret")
    refused(data, "infos is stored in another place")
    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_0/infos"]
        file["episode_0"].create_dataset("more", (2**26, 4), "f4", chunks=(2**10, 4))
    refused(data, "unpacks to 1,024 MiB")


def test_a_recording_names_no_code_to_import(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = save(tmp_path / "x.npz", Demos(OBS, action=OBS, meta={"env": "trap:Env-v0"}))
    for words in (["export", str(path), "minari:x-v0"], ["check", str(path)], ["show", str(path)]):
        main(["demos", *words, *(["--out", str(tmp_path / "x.png")] if words[0] == "show" else [])])
    assert not (tmp_path / "executed").exists()


# -------------------------------------------------------------------------------------------------------- ways to name


@pytest.mark.parametrize(
    "words",
    [["check", ""], ["show", " "], ["import", ""], ["export", "", "x.csv"], ["check", "~nobody-at-all/x.npz"]],
)
def test_empty_and_homeless_names_are_one_line(words, capsys):
    assert main(["demos", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is empty" in said or "nobody-at-all" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--episodes", "0"], "--episodes must be from 1 to 10,000, not 0"),
        (["--episodes", "-3"], "--episodes must be from 1"),
        (["--best-of", "0"], "--best-of must be from 1"),
        (["--episodes", "100000000"], "--episodes must be from 1"),
        (["--out", "old.npz"], "old.npz: already there"),
        (["--out", "new.csv"], "ends in .npz"),
    ],
)
def test_a_recording_that_can_not_be_made_is_refused_before_any_episode(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    save("old.npz", Demos(OBS))
    assert main(["demos", "record", "--expert", "hopper", *words]) == 2
    assert message in capsys.readouterr().err
    assert os.listdir() == ["old.npz"]


def test_what_was_said_before_is_not_said_again(tmp_path):
    repeated = save(tmp_path / "x.npz", Demos(np.array([0, 0, 0, 1, 2, 3])[:, None]))
    with pytest.warns(UserWarning, match="2 of 6 states"):
        load(repeated)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(repeated, quiet=True).obs.shape == (6, 1)
    (tmp_path / "y.npz").write_bytes(b"no recording")
    with pytest.raises(UserError):
        load(tmp_path / "y.npz", quiet=True)


# --------------------------------------------------------------------------------------------------------------- words


def test_the_python_in_the_docs_runs_after_a_bare_import(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "demonstrations.md").read_text(), re.DOTALL)
    code = "\n".join(blocks)
    assert "import onlooker\n" in code
    assert "from onlooker" not in code
    made = "import numpy as np\nrng = np.random.default_rng(0)\n"
    made += "states, episodes = rng.normal(size=(1870, 3)), rng.normal(size=(2, 9, 3))\n"
    env = os.environ | {"MINARI_DATASETS_PATH": str(tmp_path / "minari")}
    line = [sys.executable, "-W", "error::SyntaxWarning", "-c", made + code]
    done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_shipped_files_say_what_the_docs_say_of_them():
    assert "were not made by that command" in (DOCS / "experts.md").read_text()
    for name in shipped.names():
        assert not load(name).meta["policy"]["command"].startswith("onlooker grid")
