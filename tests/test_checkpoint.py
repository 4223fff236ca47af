"""Checkpoints: whole or passed over, never of another run, never unpickled."""

import io
import os
import pickle
import re
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from onlooker.errors import UserError
from onlooker.runs import checkpoint
from onlooker.storage import atomic, load_arrays, save_arrays, write_json

CONFIG = {"method": "ppo", "budget": {"steps": 7}}


class Pair(NamedTuple):
    first: Any
    second: Any


def state(number: float) -> Any:
    """A tree with all that a learner's state has: tuples, lists, dicts, scalars."""
    layers = [{"w": jnp.full((2, 3), number), "b": jnp.arange(3.0)}, {"w": jnp.ones((3, 1))}]
    return Pair(layers, {"seen": jnp.array(number, jnp.float32), "count": jnp.array(5, jnp.int32), "nothing": ()})


def collector(rows: int) -> dict[str, Any]:
    return {"obs": np.arange(rows * 2.0).reshape(rows, 2), "pool": {"elapsed": np.array([rows])}}


def save_two(folder: Path) -> Path:
    """Checkpoints after 1 and 2 iterations; the newest."""
    for iteration in (1, 2):
        checkpoint.save(folder, iteration, state(iteration), collector(iteration), CONFIG)
    return folder / "00000002.npz"


def load(folder: Path, config: dict[str, Any] = CONFIG) -> tuple[int, Any, dict[str, Any], list[str]]:
    return checkpoint.load(folder, state(0), collector(0), config)


def assert_is(loaded: tuple[int, Any, dict[str, Any], list[str]], iteration: int) -> None:
    """All that was saved after this iteration, in its place, with its type."""
    assert loaded[0] == iteration
    ours, theirs = checkpoint.flatten(loaded[1], ""), checkpoint.flatten(state(iteration), "")
    ours |= checkpoint.flatten(loaded[2], "collector")
    theirs |= checkpoint.flatten(collector(iteration), "collector")
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert ours[name].dtype == theirs[name].dtype
        assert np.array_equal(ours[name], theirs[name]), name


def test_save_and_load(tmp_path: Path) -> None:
    save_two(tmp_path)
    loaded = load(tmp_path)
    assert_is(loaded, 2)
    assert isinstance(loaded[1], Pair)
    assert loaded[3] == []


def test_leaves_are_keyed_by_their_path() -> None:
    assert sorted(checkpoint.flatten(state(1), "state")) == [
        "state.first[0]['b']",
        "state.first[0]['w']",
        "state.first[1]['w']",
        "state.second['count']",
        "state.second['seen']",
    ]


def test_without_a_checkpoint_a_run_begins(tmp_path: Path) -> None:
    iteration, _, loaded, complaints = load(tmp_path / "none")
    assert (iteration, complaints) == (0, [])
    assert loaded["obs"].shape == (0, 2)


def test_only_the_newest_two_are_kept(tmp_path: Path) -> None:
    for iteration in (9, 10, 11, 100):
        checkpoint.save(tmp_path, iteration, state(1), collector(1), CONFIG)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000011.npz", "00000100.npz"]


@pytest.mark.parametrize("left", [0, 1, 10, 0.5, 0.99])
def test_a_truncated_checkpoint_is_passed_over(tmp_path: Path, left: float) -> None:
    newest = save_two(tmp_path)
    data = newest.read_bytes()
    newest.write_bytes(data[: int(left if left >= 1 else left * len(data))])
    loaded = load(tmp_path)
    assert_is(loaded, 1)
    assert len(loaded[3]) == 1
    assert "00000002.npz" in loaded[3][0]


def test_a_flipped_byte_anywhere_is_noticed_or_harmless(tmp_path: Path) -> None:
    """Never another error, never other numbers. (Harmless are times and such in the zip's own headers.)"""
    for iteration in (1, 2):
        checkpoint.save(tmp_path, iteration, {"w": np.full((64, 64), 1.0 * iteration)}, collector(2000), CONFIG)
    newest = tmp_path / "00000002.npz"
    data = newest.read_bytes()
    # Every byte of the headers and of the zip's directory at the end, and some of the numbers in between.
    starts = [found.start() for found in re.finditer(rb"\x93NUMPY", data)]
    positions = {at for start in starts for at in range(max(0, start - 90), start + 128)}
    positions |= set(range(len(data) - 450, len(data))) | set(range(0, len(data), 500))
    passed_over, rng = 0, np.random.default_rng(0)
    for position in sorted(positions):
        flipped = bytearray(data)
        flipped[position] ^= int(rng.integers(1, 256))
        newest.write_bytes(bytes(flipped))
        iteration, loaded, rest, _ = checkpoint.load(tmp_path, {"w": np.zeros((64, 64))}, collector(0), CONFIG)
        assert iteration in (1, 2), position
        assert np.array_equal(loaded["w"], np.full((64, 64), iteration)), position
        assert np.array_equal(rest["obs"], collector(2000)["obs"]), position
        passed_over += iteration == 1
    assert passed_over > 0.5 * len(positions)


def test_when_all_are_damaged_the_run_begins_anew_and_says_so(tmp_path: Path) -> None:
    save_two(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"rubbish")
    iteration, _, _, complaints = load(tmp_path)
    assert iteration == 0
    assert len(complaints) == 2


def test_another_config_is_refused(tmp_path: Path) -> None:
    save_two(tmp_path)
    with pytest.raises(UserError, match=r"00000002.npz belongs to another configuration than config.json"):
        load(tmp_path, CONFIG | {"method": "i2l"})


def test_another_shape_or_type_is_refused(tmp_path: Path) -> None:
    save_two(tmp_path)
    said = {"another shape": {"x": jnp.zeros(3)}, "float32, not int32": {"x": jnp.zeros((), jnp.int32)}}
    for reason, other in (said | {"is missing": {"y": jnp.zeros(())}}).items():
        checkpoint.save(tmp_path, 3, {"x": jnp.zeros(())}, {}, CONFIG)
        with pytest.raises(UserError, match=reason):
            checkpoint.load(tmp_path, other, {}, CONFIG)


class Bomb:
    def __reduce__(self) -> tuple:
        return os.system, ("touch exploded",)


def test_nothing_is_ever_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    newest = save_two(tmp_path / "checkpoints")
    np.savez(newest, state=np.array([Bomb()], dtype=object), meta=np.array("{}"))
    loaded = load(tmp_path / "checkpoints")
    assert_is(loaded, 1)
    plain = io.BytesIO()
    pickle.dump(Bomb(), plain)
    newest.write_bytes(plain.getvalue())
    assert_is(load(tmp_path / "checkpoints"), 1)
    assert not (tmp_path / "exploded").exists()


def test_objects_are_never_pickled_either(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_arrays(tmp_path / "a.npz", {"x": np.array([Bomb()], dtype=object)}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_written_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"old": 1})
    with pytest.raises(TypeError), atomic(tmp_path / "a.json") as stream:
        stream.writelines([b"half of it", None])  # type: ignore[list-item]
    assert (tmp_path / "a.json").read_text() == '{\n  "old": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_arrays_and_their_note(tmp_path: Path) -> None:
    for compress in (False, True):
        save_arrays(tmp_path / "a.npz", {"x": np.arange(3, dtype=np.int16)}, {"note": [1, "two"]}, compress)
        arrays, meta = load_arrays(tmp_path / "a.npz")
        assert arrays["x"].dtype == np.int16
        assert arrays["x"].tolist() == [0, 1, 2]
        assert meta == {"note": [1, "two"]}
    with pytest.raises(UserError, match="there is no file"):
        load_arrays(tmp_path / "b.npz")
    with pytest.raises(UserError, match=r"can't write .*: No such file or directory"):
        save_arrays(tmp_path / "none" / "a.npz", {}, {})
