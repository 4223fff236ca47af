"""Demonstrations in memory, in .npz files, shipped ones and their picture. Files are hostile until shown otherwise."""

import hashlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onlooker import demos as demos_package
from onlooker.demos import Demos, check, load, plot, read_npz, save, shipped
from onlooker.errors import UserError


def two_episodes() -> Demos:
    """Episodes of 3 and 2 states; state t is (t, 10 t), successor t + 0.5, action -t."""
    t = np.arange(5)
    return Demos(
        obs=np.stack([t, 10 * t], 1),
        action=-t[:, None],
        next_obs=np.stack([t, 10 * t], 1) + 0.5,
        terminated=np.array([0, 0, 1, 0, 0], bool),
        truncated=np.array([0, 0, 0, 0, 1], bool),
        lengths=np.array([3, 2]),
        meta={"env": "Toy-v0", "returns": [7.0, 8.5]},
    )


def npz(path: Path, **arrays) -> Path:
    np.savez_compressed(path, **arrays)
    return path


# ---------------------------------------------------------------------------------------------------------- in memory


def test_fields_are_converted():
    demos = two_episodes()
    assert demos.obs.dtype == np.float32
    assert demos.action is not None
    assert demos.action.dtype == np.float32
    assert demos.lengths.dtype == np.int64
    assert demos.episodes() == [(0, 3), (3, 5)]
    assert demos.returns() == pytest.approx([7.0, 8.5])


def test_state_pairs_with_next_obs_are_all():
    states, successors = two_episodes().state_pairs()
    assert states[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert successors[:, 0].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_state_pairs_without_next_obs_stay_within_episodes():
    demos = Demos(np.arange(6)[:, None], lengths=np.array([3, 1, 2]))
    states, successors = demos.state_pairs()
    assert states[:, 0].tolist() == [0, 1, 4]
    assert successors[:, 0].tolist() == [1, 2, 5]


def test_take_first_episode_keeps_everything():
    first = two_episodes().take(episodes=1)
    assert first.obs[:, 0].tolist() == [0, 1, 2]
    assert first.next_obs is not None
    assert first.next_obs[:, 0].tolist() == [0.5, 1.5, 2.5]
    assert first.lengths.tolist() == [3]
    assert first.meta == {"env": "Toy-v0", "returns": [7.0]}


def test_take_with_stride_drops_next_obs_and_gathers_flags():
    strided = two_episodes().take(stride=2)
    assert strided.obs[:, 0].tolist() == [0, 2, 3]
    assert strided.action is not None
    assert strided.action[:, 0].tolist() == [0, -2, -3]
    assert strided.next_obs is None
    assert strided.lengths.tolist() == [2, 1]
    assert strided.terminated is not None
    assert strided.truncated is not None
    assert strided.terminated.tolist() == [False, True, False]
    assert strided.truncated.tolist() == [False, False, True]  # row 3 stands for the steps 3 and 4


@pytest.mark.parametrize(("episodes", "stride"), [(0, 1), (3, 1), (-1, 1), (1, 0)])
def test_take_refuses(episodes, stride):
    with pytest.raises(UserError, match=r"cannot take|stride"):
        two_episodes().take(episodes, stride)


def test_states_only():
    demos = two_episodes().states_only()
    assert demos.action is None
    assert demos.next_obs is not None


def test_lengths_come_from_flags():
    demos = Demos(np.arange(5)[:, None], terminated=np.array([0, 1, 0, 0, 0]), truncated=np.eye(5)[2])
    assert demos.lengths.tolist() == [2, 1, 2]
    assert Demos(np.arange(5)[:, None]).lengths.tolist() == [5]


@pytest.mark.parametrize("returns", [None, [1.0], "much", [1.0, "x"], [1, 2, 3]])
def test_returns_that_do_not_fit_are_none(returns):
    assert Demos(np.arange(4)[:, None], lengths=np.array([2, 2]), meta={"returns": returns}).returns() is None


OBS = np.arange(8.0).reshape(4, 2)
BAD_PARTS = [
    ({"obs": OBS[:, 0]}, r"obs has shape \(4,\)"),
    ({"obs": np.zeros((4, 0))}, r"obs has shape \(4, 0\)"),
    ({"obs": np.array([["a", "b"]])}, "obs holds str"),
    ({"obs": np.array([[object()]])}, "obs holds object"),
    ({"obs": OBS + 1j}, "obs holds complex128"),
    ({"obs": [[1.0, 2.0], [3.0]]}, "obs is ragged"),
    ({"obs": OBS, "action": np.zeros((3, 1))}, "action has 3 rows, but obs has 4"),
    ({"obs": OBS, "action": np.zeros(4)}, r"action has shape \(4,\)"),
    ({"obs": OBS, "next_obs": np.zeros((4, 3))}, "next_obs has 3 numbers a state, but obs has 2"),
    ({"obs": OBS, "terminated": [0, 0, 0, 2]}, "terminated must be one true or false"),
    ({"obs": OBS, "truncated": [0, 0, 1]}, "truncated has 3 rows"),
    ({"obs": OBS, "lengths": [2, 1]}, "lengths sum to 3"),
    ({"obs": OBS, "lengths": [5, -1]}, "the least is -1"),
    ({"obs": OBS, "lengths": [4, 0]}, "the least is 0"),
    ({"obs": OBS, "lengths": np.array([2**63, 2**63 + 4], np.uint64)}, "lengths sum to 18446744073709551620"),
    ({"obs": OBS, "lengths": np.zeros(0, int)}, "lengths sum to 0"),
    ({"obs": OBS, "lengths": [2.0, 2.0]}, "whole numbers"),
    ({"obs": OBS, "meta": "[1]"}, "meta is a list"),
    ({"obs": OBS, "meta": "{"}, "meta is not a JSON string"),
    ({"obs": OBS, "meta": "[" * 100_000}, "meta is not a JSON string"),
    ({"action": OBS}, r"there is no 'obs' \(found: action\)"),
]


@pytest.mark.parametrize(("parts", "message"), BAD_PARTS)
def test_wrong_shapes_and_types_are_refused_from_memory_and_from_a_file(parts, message, tmp_path):
    with pytest.raises(UserError, match=message):
        load(parts)
    if "ragged" not in message:  # numpy cannot save it either
        with pytest.raises(UserError, match=rf"x\.npz: .*({message}|obs holds pickled)"):
            load(npz(tmp_path / "x.npz", **parts))


# ------------------------------------------------------------------------------------------------------------- checks


def spoiled(row: int, column: int, value: float) -> np.ndarray:
    obs = OBS.copy()
    obs[row, column] = value
    return obs


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"obs": spoiled(2, 1, np.nan)}, "obs is NaN at row 2, column 1 .*in all: 1"),
        ({"obs": spoiled(3, 0, -np.inf)}, "obs is infinite .*row 3, column 0"),
        ({"obs": spoiled(3, 0, 1e300)}, "obs is infinite .*row 3, column 0"),
        ({"obs": OBS, "next_obs": spoiled(0, 0, np.nan)}, "next_obs is NaN at row 0, column 0"),
        ({"obs": OBS, "action": [[0], [0], [np.nan], [np.nan]]}, r"action is NaN at row 2, column 0 .*in all: 2"),
        ({"obs": OBS[:1]}, "1 recorded states are too few"),
        ({"obs": OBS[:0]}, "0 recorded states are too few"),
        ({"obs": np.ones((9, 3))}, "all 9 recorded states are the same"),
    ],
)
def test_useless_recordings_are_refused(parts, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserError, match=message):
            load(parts)


def test_observation_size_says_both_numbers():
    with pytest.raises(UserError, match="has 2 numbers, but a state of Hopper-v5 has 11"):
        load(OBS, obs_size=11, env_name="Hopper-v5")
    assert load(OBS, obs_size=2).obs.shape == (4, 2)


def test_odd_recordings_warn():
    repeated = Demos(np.array([0, 0, 0, 1, 2, 3])[:, None])
    assert check(repeated) == ["2 of 6 states are followed by the same state again"]
    copies = Demos(np.array([1, 2, 1, 2, 3, 4])[:, None], lengths=np.array([2, 2, 2]))
    assert check(copies) == ["1 of 3 episodes are copies of another one"]
    single = Demos(np.arange(3)[:, None], lengths=np.ones(3, int))
    assert "no state pairs" in check(single)[0]
    with pytest.warns(UserWarning, match="2 of 6 states"):
        load(repeated)


def test_fine_recordings_do_not_warn():
    one_constant_column = np.stack([np.arange(5), np.ones(5)], 1)
    assert check(Demos(one_constant_column, action=5 * np.ones((5, 1)))) == []


# -------------------------------------------------------------------------------------------------------------- files


def test_round_trip(tmp_path):
    demos = two_episodes()
    read = load(save(tmp_path / "x.npz", demos))
    for key in ("obs", "action", "next_obs", "terminated", "truncated", "lengths"):
        np.testing.assert_array_equal(getattr(read, key), getattr(demos, key), strict=True)
    assert read.meta == demos.meta
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:  # the format is numpy's own
        assert sorted(file) == sorted(["obs", "action", "next_obs", "terminated", "truncated", "lengths", "meta"])
        assert file["meta"].shape == ()
        assert json.loads(str(file["meta"])) == demos.meta
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i4", "u1", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_plain_npz_of_any_numbers_is_one_episode(tmp_path, dtype, order):
    demos = load(npz(tmp_path / "x.npz", obs=np.array([[0, 1, 2], [3, 4, 5]], dtype, order=order)))
    assert demos.obs.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert demos.obs.dtype == np.float32
    assert demos.lengths.tolist() == [2]
    assert demos.action is None
    assert demos.meta == {}


def test_uncompressed_npz(tmp_path):
    np.savez(tmp_path / "x.npz", obs=OBS)
    assert load(str(tmp_path / "x.npz")).obs.tolist() == OBS.tolist()


def test_unknown_keys_are_named_in_one_warning_and_ignored(tmp_path):
    path = npz(tmp_path / "x.npz", obs=OBS, frames=np.zeros(3), objects=np.array([{}]))
    with pytest.warns(UserWarning, match="ignored unknown keys: frames, objects") as caught:
        assert load(path).obs.shape == (4, 2)
    assert len(caught) == 1


def test_save_does_not_overwrite_unless_told(tmp_path):
    path = save(tmp_path / "x.npz", Demos(OBS))
    with pytest.raises(UserError, match="already there"):
        save(path, Demos(OBS + 1))
    assert load(path).obs[0, 0] == 0
    save(path, Demos(OBS + 1), overwrite=True)
    assert load(path).obs[0, 0] == 1


def test_save_leaves_nothing_behind_when_it_fails(tmp_path):
    for meta in ({"bad": object()}, {"bad": float("nan")}):
        with pytest.raises(UserError, match="JSON"):
            save(tmp_path / "x.npz", Demos(OBS, meta=meta))
    with pytest.raises(UserError, match="NaN"):
        save(tmp_path / "x.npz", Demos(spoiled(0, 0, np.nan)))
    with pytest.raises(UserError, match=r"ends in \.npz"):
        save(tmp_path / "x.dat", Demos(OBS))
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(UserError, match="can't write"):
        save(tmp_path / "folder.npz", Demos(OBS), overwrite=True)
    with pytest.raises(UserError, match="can't write"):
        save(tmp_path / "no" / "x.npz", Demos(OBS))
    with pytest.raises(UserError, match="can't write"):
        save(tmp_path / ("x" * 300 + ".npz"), Demos(OBS))
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.npz"]


def test_files_that_are_none(tmp_path):
    (tmp_path / "empty.npz").touch()
    (tmp_path / "text.npz").write_text("obs")
    (tmp_path / "folder.npz").mkdir()
    np.save(tmp_path / "bare.npy", OBS)
    os.mkfifo(tmp_path / "pipe.npz")
    for name, message in {
        "empty.npz": "is empty",
        "text.npz": "damaged, or not an .npz file",
        "folder.npz": "is a folder",
        "missing.npz": "No such file",
        "pipe.npz": "not a regular file",
        "bare.npy": "savez_compressed",
        "": "not a recording",
    }.items():
        with pytest.raises(UserError, match=message) as error:
            load(tmp_path / name)
        assert "\n" not in str(error.value)


def test_permission_denied(tmp_path):
    path = save(tmp_path / "x.npz", Demos(OBS))
    path.chmod(0)
    me = os.geteuid()
    nobody = 65534
    if me == 0:  # root may read everything
        os.seteuid(nobody)
    try:
        with pytest.raises(UserError, match=r"x\.npz: Permission denied"):
            load(path)
        with pytest.raises(UserError, match=r"neither a file nor|holds no demonstrations"):
            load(str(tmp_path / "x"))
    finally:
        os.seteuid(me)


def test_paths_that_no_system_takes():
    for path in ("x" * 5000 + ".npz", "x" * 5000, "a\0b.npz", "a\0b", "", "."):
        with pytest.raises(UserError) as error:
            load(path)
        assert "\n" not in str(error.value)


# ------------------------------------------------------------------------------------------------------ hostile files


class Trap:
    """Unpickling it would make a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_a_pickle_is_refused_and_never_executed(tmp_path):
    victim = tmp_path / "executed"
    trap = np.array([[Trap(victim)]], dtype=object)
    np.savez_compressed(tmp_path / "x.npz", obs=trap)
    with pytest.raises(UserError, match="obs holds pickled Python objects"):
        load(tmp_path / "x.npz")
    np.savez_compressed(tmp_path / "y.npz", obs=OBS, meta=np.array(Trap(victim), dtype=object))
    with pytest.raises(UserError, match="meta holds pickled"):
        load(tmp_path / "y.npz")
    (tmp_path / "z.npz").write_bytes(pickle.dumps(Trap(victim)))
    with pytest.raises(UserError, match="damaged"):
        load(tmp_path / "z.npz")
    assert not victim.exists()
    touch, arguments = Trap(victim).__reduce__()
    touch(*arguments)  # what unpickling would have done
    assert victim.exists()


def test_a_truncated_file_is_refused_at_every_length(tmp_path):
    whole = save(tmp_path / "x.npz", two_episodes()).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "x.npz").write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"x\.npz: (is empty|damaged)"):
            load(tmp_path / "x.npz")


def array_header(shape: str, descr: str = "<f4") -> bytes:
    """The start of an .npy file that claims `shape`."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def zip_of(path: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("obs.npy", content)
    return path


def refused_cheaply(path: Path, message: str) -> None:
    """Loading fails with `message` before it has taken 50 MB."""
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=message):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", ["(1000000000000, 17)", "(3, 2)", "(1, 2)", "(-2, -1)", "(0, 2)"])
def test_an_array_header_that_lies_is_refused(tmp_path, shape):
    path = zip_of(tmp_path / "x.npz", array_header(shape) + bytes(16))  # 16 bytes: shape (2, 2)
    refused_cheaply(path, r"obs claims shape|damaged")


@pytest.mark.parametrize(
    "header", ["(2, 2", "'2, 2'", "(2.0, 2)", "__import__('os').abort()", "(" * 5000, "(2, 2), 'x': 1"]
)
def test_an_array_header_that_is_nonsense_is_refused(tmp_path, header):
    refused_cheaply(zip_of(tmp_path / "x.npz", array_header(header) + bytes(16)), "damaged")


def test_a_zip_bomb_is_refused_unopened(tmp_path):
    rows = 30_000_000 // 17
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("obs.npy", "w", force_zip64=True) as member,
    ):
        member.write(array_header(f"({rows}, 17)"))
        for _ in range(rows // 1000):
            member.write(bytes(17 * 4 * 1000))
    assert (tmp_path / "x.npz").stat().st_size < 200_000  # and it would unpack to 120 MB
    refused_cheaply(tmp_path / "x.npz", "unpacks to 11. MiB from 0.1 MiB")


def test_a_zip_that_claims_three_gigabytes_is_refused(tmp_path):
    content = array_header("(201326592, 4)") + bytes(16)
    path = zip_of(tmp_path / "x.npz", content)
    raw = bytearray(path.read_bytes())
    directory = raw.index(b"PK\x01\x02")
    raw[directory + 24 : directory + 28] = struct.pack("<I", len(content) - 16 + 3 * 2**30)
    path.write_bytes(raw)
    refused_cheaply(path, "unpacks to 3,072 MiB")


def test_a_zip_that_claims_less_than_it_holds_unpacks_no_more_than_it_claims(tmp_path):
    header = array_header("(2000, 2)")
    path = zip_of(tmp_path / "x.npz", header + bytes(100_000_000))
    raw = bytearray(path.read_bytes())
    directory = raw.index(b"PK\x01\x02")
    raw[directory + 24 : directory + 28] = struct.pack("<I", len(header) + 16_000)
    path.write_bytes(raw)
    refused_cheaply(path, "damaged")


def test_other_compressions_are_refused(tmp_path):
    refused_cheaply(
        zip_of(tmp_path / "x.npz", array_header("(2, 2)") + bytes(16), zipfile.ZIP_BZIP2), "other than deflate"
    )


def loads_finite_or_refuses(path: Path) -> None:
    """Any other exception than UserError fails the test."""
    message = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            demos = load(path)
        except UserError as error:
            message = str(error)
        else:
            assert np.isfinite(demos.obs).all()
            assert demos.lengths.sum() == len(demos.obs)
    assert "\n" not in message


def valid_bytes(write) -> bytes:
    demos = two_episodes()
    write(buffer := io.BytesIO(), obs=demos.obs, lengths=demos.lengths, meta=np.array(json.dumps(demos.meta)))
    return buffer.getvalue()


COMPRESSED, STORED = valid_bytes(np.savez_compressed), valid_bytes(np.savez)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_either_loads_finite_arrays_or_is_a_user_error(tmp_path, data):
    raw = bytearray(data.draw(st.sampled_from([COMPRESSED, STORED])))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(0, len(raw))) :]
    path = tmp_path / "x.npz"
    path.write_bytes(raw)
    loads_finite_or_refuses(path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_that_the_zip_checksum_cannot_see(tmp_path, data):
    """The same inside an array, packed anew: its header and its numbers."""
    raw = bytearray(array_header("(4, 2)") + OBS.astype("<f4").tobytes())
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    loads_finite_or_refuses(zip_of(tmp_path / "x.npz", bytes(raw)))


# --------------------------------------------------------------------------------------------------- sources for load


def test_load_from_memory():
    assert load(OBS).lengths.tolist() == [4]
    three = load(np.arange(12).reshape(2, 3, 2))
    assert three.lengths.tolist() == [3, 3]
    assert three.obs[3].tolist() == [6, 7]
    assert load({"obs": OBS, "lengths": [1, 3], "action": None}).lengths.tolist() == [1, 3]
    demos = two_episodes()
    assert load(demos) is demos
    for bad in (7, None, [[1.0]]):
        with pytest.raises(UserError, match="a demonstration is a name, a path"):
            load(bad)


def shipped_folder(folder: Path) -> Path:
    for name in ("hopper", "hopper-actions", "hopper-10", "hopper-expert"):
        save(folder / f"{name}.npz", Demos(OBS))
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in folder.glob("*.npz")]
    (folder / "SHA256SUMS").write_text("".join(sums))
    return folder


def test_shipped_names_and_paths(tmp_path):
    folder = shipped_folder(tmp_path)
    assert shipped.names(folder) == ["hopper", "hopper-10", "hopper-actions"]
    for name in ("hopper", "Hopper", "Hopper-v5", "HOPPER-v4"):
        assert shipped.path(name, folder) == folder / "hopper.npz"
    assert shipped.path("Hopper-Actions", folder) == folder / "hopper-actions.npz"
    assert shipped.expert_path("Hopper-v5", folder) == folder / "hopper-expert.npz"
    with pytest.raises(UserError, match=r"'hoper' is neither .*did you mean 'hopper'\? \(one of: hopper, hopper-10"):
        shipped.path("hoper", folder)


def test_a_damaged_shipped_file_is_refused(tmp_path):
    folder = shipped_folder(tmp_path)
    raw = bytearray((folder / "hopper.npz").read_bytes())
    raw[40] ^= 1
    (folder / "hopper.npz").write_bytes(raw)
    with pytest.raises(UserError, match=r"hopper\.npz is damaged \(wrong SHA-256\)"):
        shipped.path("hopper", folder)
    (folder / "hopper.npz").unlink()
    with pytest.raises(UserError, match=r"hopper\.npz cannot be read"):
        shipped.path("hopper", folder)


def test_an_installation_without_assets_says_so(tmp_path):
    assert shipped.names(tmp_path) == []
    with pytest.raises(UserError, match="holds no demonstrations"):
        shipped.path("halfcheetah", tmp_path)


@pytest.mark.parametrize(
    ("env_id", "robot"),
    [("HalfCheetah-v5", "halfcheetah"), ("Walker2d-v4", "walker2d"), ("ant", "ant"), ("Pendulum-v1", None), ("", None)],
)
def test_robot_of(env_id, robot):
    assert shipped.robot_of(env_id) == robot


def test_an_unknown_name_is_a_user_error():
    with pytest.raises(UserError, match="halfcheeta"):
        load("halfcheeta")


@pytest.mark.skipif(not shipped.names(), reason="the assets are not made yet")
def test_everything_shipped_loads():
    for name in shipped.names():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            demos = load(name)
        robot = name.split("-")[0]
        if name == robot:
            assert demos.obs.shape[0] == 1000
            assert demos.action is None
            assert demos.lengths.tolist() == [1000]
        else:
            assert demos.action is not None
            assert len(demos.lengths) == (10 if name.endswith("-10") else 1)


# ------------------------------------------------------------------------------------------------------------ picture


def png_size(path: Path) -> tuple[int, int]:
    raw = path.read_bytes()
    assert raw.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", raw[16:24])


@pytest.mark.parametrize(("episodes", "length", "size"), [(1, 50, 3), (3, 40, 17), (1, 3000, 12), (2, 1, 9)])
def test_the_picture_is_a_png(tmp_path, episodes, length, size):
    obs = np.random.default_rng(0).normal(size=(episodes, length, size))
    path = plot(load(obs) if length > 1 else Demos(obs[:, 0], lengths=np.array([1, 1])), tmp_path / "x.png")
    width, height = png_size(path)
    assert width == 1430
    assert 200 < height < 2000


def test_a_film_strip_makes_the_picture_higher(tmp_path):
    demos = two_episodes()
    frames = [np.full((48, 64, 3), shade, np.uint8) for shade in range(0, 200, 10)]
    plain, film = plot(demos, tmp_path / "a.png"), plot(demos, tmp_path / "b.png", frames)
    assert png_size(film)[1] > png_size(plain)[1] + 50
    with pytest.raises(UserError, match="frames must be"):
        plot(demos, tmp_path / "c.png", [*frames, np.zeros((2, 2), np.uint8)])


# ------------------------------------------------------------------------------------------------------------ imports


def test_demos_imports_neither_jax_nor_optional_packages():
    heavy = ("jax", "minari", "h5py", "matplotlib", "gymnasium")
    code = f"import sys, onlooker.demos; print([name for name in {heavy!r} if name in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(Path(demos_package.__file__).parents[2])}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert result.stdout.strip() == "[]"


def test_read_npz_is_what_load_uses(tmp_path):
    path = save(tmp_path / "x.npz", two_episodes())
    assert read_npz(path).obs.tolist() == load(path).obs.tolist()
