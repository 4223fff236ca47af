"""Other formats: tables, HDF5 and the real Minari package."""

import sys
from pathlib import Path

import gymnasium
import h5py
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from onlooker.demos import (
    Demos,
    export,
    from_minari,
    import_file,
    load,
    read_csv,
    read_hdf5,
    to_minari,
    write_csv,
    write_hdf5,
)
from onlooker.errors import UserError


def pendulum(next_obs: bool = True) -> Demos:
    """Two episodes (3 and 2 steps) with the sizes of Pendulum-v1: 3 numbers a state, 1 an action."""
    states = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    rows = np.array([0, 1, 2, 4, 5])
    return Demos(
        obs=states[rows],
        action=np.array([[0.1], [0.2], [0.3], [-5.0], [1 / 3]]),
        next_obs=states[rows + 1] if next_obs else None,
        terminated=np.array([0, 0, 1, 0, 0]),
        truncated=np.array([0, 0, 0, 0, 1]),
        lengths=np.array([3, 2]),
        meta={"env": "Pendulum-v1", "returns": [1.5, -2.0]},
    )


def assert_same(left: Demos, right: Demos) -> None:
    for key in ("obs", "action", "next_obs", "terminated", "truncated", "lengths"):
        np.testing.assert_array_equal(getattr(left, key), getattr(right, key), strict=True)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# ------------------------------------------------------------------------------------------------------------- tables


def test_csv_round_trip_is_exact(tmp_path):
    write_csv(tmp_path / "x.csv", pendulum())
    assert_same(read_csv(tmp_path / "x.csv"), pendulum())
    header = (tmp_path / "x.csv").read_text().splitlines()[0]
    assert header.startswith("episode,obs_0,obs_1,obs_2,action_0,next_obs_0,")
    assert header.endswith(",terminated,truncated")
    with pytest.raises(UserError, match="already there"):
        write_csv(tmp_path / "x.csv", pendulum())


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "1;2\n3;4",
        "1\t2\r\n3\t4\r\n",
        "1 2\n3   4\n",
        " 1, 2 \n\n# a comment\n3, 4\n\n",
        "\ufeff1,2\n3,4\n",
        '"obs_0","obs_1"\n1,2\n3,4\n',
        "obs_1,obs_0\n2,1\n4,3\n",
        "# np.savetxt writes its header so\n1e0 2e0\n3e0 4e0\n",
    ],
)
def test_plain_tables_are_states(tmp_path, text):
    demos = load(written(tmp_path / "x.csv", text))
    assert demos.obs.tolist() == [[1, 2], [3, 4]]
    assert demos.lengths.tolist() == [2]
    assert demos.action is None


def test_all_columns_in_any_order(tmp_path):
    text = "truncated,action_0,obs_0,episode,terminated\n0,5,1,7,false\n0,6,2,7,TRUE\n0,7,3,2,0\n1,8,4,2,0\n"
    demos = read_csv(written(tmp_path / "x.tsv", text))
    assert demos.obs[:, 0].tolist() == [1, 2, 3, 4]
    assert demos.action is not None
    assert demos.action[:, 0].tolist() == [5, 6, 7, 8]
    assert demos.terminated is not None
    assert demos.terminated.tolist() == [False, True, False, False]
    assert demos.lengths.tolist() == [2, 2]


def test_flags_alone_part_the_episodes(tmp_path):
    assert read_csv(written(tmp_path / "x.csv", "obs_0,terminated\n1,0\n2,1\n3,0\n")).lengths.tolist() == [2, 1]


def test_unknown_columns_are_named_and_may_hold_anything(tmp_path):
    with pytest.warns(UserWarning, match="ignored unknown keys: name, time"):
        demos = read_csv(written(tmp_path / "x.csv", "time,obs_0,name\n0.1,1,walk\n0.2,2,run\n"))
    assert demos.obs[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,x\n", r"x\.csv: line 2, column 2 \(obs_1\): 'x' is not a number"),
        ("obs_0,obs_1\n1,2\n\n3,\n", r"line 4, column 2 \(obs_1\): '' is not a number"),
        ("1,y\n3,4\n", r"line 1, column 2 \(obs_1\): 'y'"),
        ("1,2\n3\n", "line 2: 1 cells, but the first row has 2"),
        ("x,y\n1,2\n", "no column is named obs_0"),
        ("# nothing\n", "no column is named obs_0"),
        ("obs_0,obs_2\n1,2\n", "column obs_1 is missing"),
        ("obs_0,obs_0\n1,2\n", "two columns are named 'obs_0'"),
        ("obs_0,episode\n1,0\n2,1\n3,0\n", "episode 0 is in two places"),
        ("obs_0,terminated\n1,0\n2,3\n", "terminated must be one true or false"),
        ("obs_0;obs_1\n0,5;1,5\n", "line 2, column 1 .*'0,5' is not a number"),
        ("obs_0\n", "0 recorded states are too few"),
        ("obs_0,episode\n", "0 recorded states are too few"),
        ("1,2\nnan,4\n", "obs is NaN at row 1, column 0"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    with pytest.raises(UserError, match=message) as error:
        load(written(tmp_path / "x.csv", text))
    assert "\n" not in str(error.value)


def test_a_binary_table_is_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00\x01" * 100)
    with pytest.raises(UserError, match="damaged, or not a table of numbers"):
        load(tmp_path / "x.csv")


# --------------------------------------------------------------------------------------------------------------- HDF5


@pytest.mark.parametrize("name", ["x.h5", "x.hdf5", "x.npz", "x.csv"])
def test_export_then_import_by_ending(tmp_path, name):
    export(pendulum(), tmp_path / name)
    read = import_file(tmp_path / name)
    assert_same(read, pendulum())
    assert read.meta == ({} if name.endswith("csv") else pendulum().meta)
    with pytest.raises(UserError, match="already there"):
        export(pendulum(), tmp_path / name)
    export(pendulum().states_only(), tmp_path / name, overwrite=True)
    assert load(tmp_path / name).action is None
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_d4rl_names(tmp_path):
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["observations"] = np.arange(8.0).reshape(4, 2)
        file["actions"] = np.ones((4, 1), np.float32)
        file["next_observations"] = np.arange(8.0).reshape(4, 2) + 2
        file["terminals"] = np.array([0, 1, 0, 0], bool)
        file["timeouts"] = np.array([0, 0, 0, 1], bool)
        file["rewards"] = np.array([1.0, 2.0, 3.0, 4.5])
        file["infos/qpos"] = np.zeros(4)
    with pytest.warns(UserWarning, match="ignored unknown keys: infos"):
        demos = load(tmp_path / "x.hdf5")
    assert demos.lengths.tolist() == [2, 2]
    assert demos.meta["returns"] == [3.0, 7.5]
    assert demos.next_obs is not None
    assert demos.next_obs[0].tolist() == [2, 3]
    assert demos.truncated is not None
    assert demos.truncated.tolist() == [False, False, False, True]


def test_bad_hdf5(tmp_path):
    def refuse(message: str, **datasets) -> None:
        with h5py.File(tmp_path / "x.h5", "w") as file:
            for key, value in datasets.items():
                if callable(value):
                    value(file, key)
                else:
                    file[key] = value
        with pytest.raises(UserError, match=message) as error:
            load(tmp_path / "x.h5")
        assert "\n" not in str(error.value)

    obs = np.arange(8.0).reshape(4, 2)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(64)))
    export(Demos(obs), tmp_path / "other.h5")
    with pytest.warns(UserWarning, match="states"):
        refuse("there is no 'obs'", states=obs)
    refuse("'obs' is there twice", obs=obs, observations=obs)
    refuse("obs is not a plain dataset", **{"obs/inner": obs})
    refuse("obs is of variable length", obs=["a", "b"])
    refuse("meta is of variable length", obs=obs, meta="{}")
    refuse("obs holds bytes", obs=np.array([[b"a"]]))
    refuse("the inside of a Minari dataset", **{"episode_0/observations": obs})
    refuse("obs is not a plain dataset", obs=h5py.ExternalLink("other.h5", "/obs"))
    refuse("obs is not a plain dataset", obs=lambda f, k: f.create_dataset(k, (8, 2), "f4", external=[(secret, 0, 64)]))
    refuse("unpacks to", obs=lambda file, key: file.create_dataset(key, (10**9, 17), "f4", chunks=(10**4, 17)))
    (tmp_path / "x.h5").write_bytes((tmp_path / "other.h5").read_bytes()[:1500])
    with pytest.raises(UserError, match="damaged, or not an HDF5 file"):
        read_hdf5(tmp_path / "x.h5")
    (tmp_path / "x.h5").write_text("text")
    with pytest.raises(UserError, match="damaged, or not an HDF5 file"):
        read_hdf5(tmp_path / "x.h5")


def test_unknown_endings(tmp_path):
    (tmp_path / "x.pkl").write_bytes(b"x")
    with pytest.raises(UserError, match=r"x\.pkl: .*'\.pkl'.*minari:<id>, \.npz, \.csv"):
        load(tmp_path / "x.pkl")
    with pytest.raises(UserError, match=r"cannot write '\.pkl'"):
        export(pendulum(), tmp_path / "y.pkl")


def test_missing_packages_say_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)  # what Python itself does for a module that cannot be imported
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(UserError, match=r"h5py is not installed: pip install onlooker\[hdf5\]"):
        write_hdf5(tmp_path / "x.h5", pendulum())
    with pytest.raises(UserError, match=r"minari is not installed: pip install onlooker\[minari\]"):
        from_minari("toy/test-v0")


# ------------------------------------------------------------------------------------------------------------- Minari


@pytest.fixture
def minari_home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.mark.parametrize("dataset_id", ["pendulum-v0", "toy/pendulum/swing-v3"])
def test_minari_round_trip(minari_home, dataset_id):
    to_minari(pendulum(), dataset_id, "Pendulum-v1")
    by_id, by_folder = from_minari(dataset_id), import_file(minari_home / dataset_id)
    for read in (by_id, by_folder):
        assert_same(read, pendulum())
        assert read.meta == {**pendulum().meta, "source": f"minari:{dataset_id}"}
    dataset = minari.load_dataset(dataset_id)  # Minari itself can use it
    assert dataset.total_steps == 5
    assert dataset[0].observations.shape == (4, 3)
    assert dataset[1].actions.shape == (2, 1)
    assert np.isnan(dataset[0].rewards).all()
    assert dataset.env_spec is not None
    assert dataset.env_spec.id == "Pendulum-v1"
    assert load(f"minari:{dataset_id}", obs_size=3).obs.shape == (5, 3)


def test_minari_without_next_obs_loses_the_last_step_of_each_episode(minari_home):
    export(pendulum(next_obs=False), "minari:short-v0")
    read = from_minari("short-v0")
    assert read.lengths.tolist() == [2, 1]
    np.testing.assert_array_equal(read.obs, pendulum().obs[[0, 1, 3]])
    assert read.next_obs is not None
    np.testing.assert_array_equal(read.next_obs, pendulum().obs[[1, 2, 4]])
    assert read.terminated is not None
    assert read.terminated.tolist() == [False, False, False]
    assert read.truncated is not None
    assert read.truncated.tolist() == [False, True, True]


@pytest.mark.filterwarnings("ignore")  # Minari asks for an author, a link and more
def test_a_dataset_that_minari_recorded(minari_home):
    env = minari.DataCollector(gymnasium.make("Pendulum-v1", max_episode_steps=4))
    rewards, states = [], []
    for seed in range(2):
        state, _ = env.reset(seed=seed)
        for _ in range(4):
            states.append(state)
            state, reward, *_ = env.step(np.array([0.5], np.float32))
            rewards.append(float(reward))
    env.create_dataset("recorded-v0")
    demos = from_minari("recorded-v0")
    np.testing.assert_array_equal(demos.obs, np.array(states))
    assert demos.lengths.tolist() == [4, 4]
    assert demos.action is not None
    assert demos.action.tolist() == [[0.5]] * 8
    assert demos.truncated is not None
    assert demos.truncated.tolist() == [False, False, False, True] * 2
    assert demos.returns() == pytest.approx([sum(rewards[:4]), sum(rewards[4:])])
    assert demos.meta["env"] == "Pendulum-v1"


def test_discrete_actions(minari_home):
    states = np.arange(12.0).reshape(3, 4)
    demos = Demos(states, action=np.array([[0], [1], [1]]), next_obs=states + 4)
    to_minari(demos, "cart-v0", "CartPole-v1")
    assert minari.load_dataset("cart-v0")[0].actions.tolist() == [0, 1, 1]
    read = from_minari("cart-v0")
    assert read.action is not None
    assert read.action.tolist() == [[0], [1], [1]]


def test_what_minari_cannot_hold(minari_home):
    def refuse(message: str, demos: Demos, dataset_id: str = "x-v0", env_id: str = "Pendulum-v1") -> None:
        with pytest.raises(UserError, match=message) as error:
            to_minari(demos, dataset_id, env_id)
        assert "\n" not in str(error.value)

    demos = pendulum()
    refuse("needs actions", demos.states_only())
    refuse("no Minari id", demos, "../x-v0")
    refuse("no Minari id", demos, "x")
    refuse("Pendulumm", demos, env_id="Pendulumm-v1")
    refuse("cannot write x-v0", demos, env_id="")
    refuse(r"shapes \(\(3,\), \(1,\)\), but in CartPole-v1 \(\(4,\), \(1,\)\)", demos, env_id="CartPole-v1")
    refuse("a next_obs is not the next row's obs", Demos(demos.obs, demos.action, demos.obs + 1))
    refuse("one state and no successor", Demos(demos.obs, demos.action, lengths=np.array([4, 1])))
    to_minari(demos, "x-v0", "Pendulum-v1")
    refuse("already exists", demos)


@pytest.mark.filterwarnings("ignore")
def test_minari_datasets_that_cannot_be_read(minari_home, tmp_path):
    with pytest.raises(UserError, match="no Minari dataset 'pendulumm-v0' on this machine"):
        from_minari("pendulumm-v0")
    to_minari(pendulum(), "pendulum-v0", "Pendulum-v1")
    with pytest.raises(UserError, match="did you mean 'pendulum-v0'"):
        load("minari:pendulumm-v0")
    (minari_home / "pendulum-v0" / "data" / "main_data.hdf5").write_bytes(b"broken")
    with pytest.raises(UserError, match="not a Minari dataset that can be read"):
        from_minari("pendulum-v0")
    box = gymnasium.spaces.Box(-1, 1, (1,))
    minari.create_dataset_from_buffers(
        "dict-v0",
        [
            EpisodeBuffer(
                observations={"a": np.zeros((3, 1), np.float32)},
                actions=[np.zeros(1, np.float32)] * 2,
                rewards=[0.0, 0.0],
                terminations=[False, False],
                truncations=[False, True],
            )
        ],
        observation_space=gymnasium.spaces.Dict({"a": box}),
        action_space=box,
    )
    with pytest.raises(UserError, match="its states are a Dict"):
        from_minari("dict-v0")
