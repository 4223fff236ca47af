"""Configs: plain values in, checked values out, and back from JSON."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from onlooker import __version__, config, start
from onlooker.__main__ import main
from onlooker.config import Budget, Config
from onlooker.envs.world import Factors, World, parse_wind
from onlooker.errors import UserError
from onlooker.learning.ppo import PPOOptions
from onlooker.methods.oracle import PPOMethod
from onlooker.options.spelling import parse_count, parse_kwargs


def ppo_with(settings: dict[str, Any]) -> Config:
    return config.make("ppo", **settings)


def test_defaults() -> None:
    made = config.make("ppo")
    assert made == Config("ppo", PPOMethod(), World(), Budget())
    assert (made.budget.steps, made.budget.steps_per_iteration, made.budget.num_envs) == (5_000_000, 2048, 16)
    assert (made.options.ppo.epochs, made.options.ppo.minibatches, made.options.ppo.clip) == (5, 8, 0.2)
    assert (made.options.ppo.discount, made.options.ppo.gae_lambda) == (0.995, 0.95)


def test_make_puts_every_setting_in_its_place() -> None:
    made = config.make(
        "ppo",
        env="Ant-v5",
        env_kwargs={"include_cfrc_ext_in_observation": False},
        dynamics="low-gravity",
        gravity=0.4,
        density={"torso": 2},
        wind=[1, 0, 0],
        steps=1e6,
        seed=3,
        num_envs=8,
        ppo={"epochs": 10, "time_limit": "ignore"},
        policy={"hidden": [32, 16], "squash": False},
        scale_reward=False,
    )
    assert made.world.env == "Ant-v5"
    assert made.world.resolve().changes == {"gravity": 0.4, "density": {"torso": 2.0}, "wind": (1.0, 0.0, 0.0)}
    assert made.budget == Budget(steps=1_000_000, seed=3, num_envs=8)
    assert (made.options.ppo.epochs, made.options.ppo.time_limit, made.options.ppo.minibatches) == (10, "ignore", 8)
    assert (made.options.policy.hidden, made.options.policy.squash) == ((32, 16), False)
    assert made.options.scale_reward is False


@pytest.mark.parametrize(
    ("steps", "per_iteration", "iterations"),
    [(2048, 2048, 1), (2049, 2048, 2), (1, 2048, 1), (5_000_000, 2048, 2442), (4096, 2048, 2), (1000, 64, 16)],
)
def test_iterations_are_steps_over_2048_rounded_up(steps: int, per_iteration: int, iterations: int) -> None:
    for num_envs in (1, 8, 16):
        made = config.make("ppo", steps=steps, steps_per_iteration=per_iteration, num_envs=num_envs)
        assert made.budget.iterations == iterations


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"env": "Hopper-v5", "dynamics": "high-density", "friction": {"foot": 2}, "wind": (0, 1, 2), "steps": 7e5},
        {"env_kwargs": {"frame_skip": 2, "healthy_z_range": [0.1, 2]}, "max_episode_steps": 77},
        {"policy": {"hidden": (8, 8, 8), "log_std_init": -1}, "ppo": {"time_limit": "ignore", "anneal": True}},
    ],
)
def test_json_and_back(settings: dict[str, Any]) -> None:
    made = ppo_with(settings)
    text = json.dumps(made.to_json())
    back = Config.from_json(json.loads(text))
    assert back == made
    assert json.dumps(back.to_json()) == text
    assert json.loads(text)["version"] == __version__


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"stps": 1}, "unknown option 'stps' for ppo; did you mean 'steps'?"),
        ({"ppo": {"epoch": 1}}, "options.ppo: unknown option 'epoch'; did you mean 'epochs'?"),
        ({"policy": {"hiden": [1]}}, "options.policy: unknown option 'hiden'; did you mean 'hidden'?"),
        ({"dynamics": "low_gravity"}, "unknown dynamics 'low_gravity'; did you mean 'low-gravity'?"),
        (
            {"ppo": {"time_limit": "ignored"}},
            "options.ppo.time_limit: 'ignored' is not allowed; did you mean 'ignore'?",
        ),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError) as failure:
        ppo_with(settings)
    assert str(failure.value).startswith(reason)


def test_an_unknown_method_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown method 'pppo'; did you mean 'ppo'"):
        config.make("pppo")


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": "many"},
        {"steps": 1.5},
        {"steps": None},
        {"steps": True},
        {"seed": "0"},
        {"num_envs": 2.5},
        {"env": 5},
        {"env_kwargs": 2},
        {"dynamics": 3},
        {"gravity": "half"},
        {"gravity": True},
        {"density": {"torso": "2"}},
        {"wind": "strong"},
        {"scale_reward": 1},
        {"ppo": {"epochs": "5"}},
        {"ppo": {"learning_rate": "fast"}},
        {"ppo": 5},
        {"policy": {"hidden": 64}},
        {"policy": {"hidden": ["64"]}},
        {"policy": {"squash": "no"}},
    ],
)
def test_a_value_of_another_type_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(settings))):
        ppo_with(settings)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0, -1])
@pytest.mark.parametrize("name", ["steps", "num_envs", "steps_per_iteration", "max_episode_steps"])
def test_bad_budgets_are_refused(name: str, bad: float) -> None:
    with pytest.raises(UserError, match=f"{name}|{name.replace('_', '-')}"):
        ppo_with({name: bad})


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0, -1])
@pytest.mark.parametrize("name", ["gravity", "density", "friction", "damping", "armature", "stiffness", "gear"])
def test_bad_factors_are_refused(name: str, bad: float) -> None:
    with pytest.raises(UserError, match=f"{name} factor must be a positive, finite number"):
        ppo_with({name: bad})


@pytest.mark.parametrize(
    ("part", "name", "bad"),
    [
        ("ppo", "learning_rate", 0),
        ("ppo", "learning_rate", -1),
        ("ppo", "learning_rate", math.nan),
        ("ppo", "epochs", 0),
        ("ppo", "minibatches", 0),
        ("ppo", "clip", math.inf),
        ("ppo", "discount", 1.01),
        ("ppo", "discount", 0),
        ("ppo", "gae_lambda", 1.01),
        ("ppo", "gae_lambda", -0.1),
        ("ppo", "entropy_bonus", -1),
        ("ppo", "value_clip", math.nan),
        ("ppo", "max_grad_norm", 0),
        ("ppo", "adam_eps", math.nan),
        ("policy", "hidden", (64, 0)),
        ("policy", "log_std_init", math.nan),
        ("policy", "log_std_init", math.inf),
        ("policy", "log_std_min", math.nan),
        ("policy", "log_std_max", math.nan),
    ],
)
def test_numbers_that_mean_nothing_are_refused(part: str, name: str, bad: Any) -> None:
    with pytest.raises(UserError, match=f"--{part}.{name.replace('_', '-')}"):
        ppo_with({part: {name: bad}})


def test_zero_where_it_means_something() -> None:
    config.make("ppo", ppo={"gae_lambda": 0, "entropy_bonus": 0, "value_clip": 0})
    config.make("ppo", ppo={"gae_lambda": 1, "discount": 1}, policy={"log_std_init": -2})
    config.make("i2l", elite={"weigh": 0, "ahead": 0, "living": 0}, critic={"reward": 0})
    config.make("i2l", elite={"weigh": 1, "ahead": 1})


@pytest.mark.parametrize(
    ("name", "bad"), [("weigh", 1.01), ("weigh", -0.1), ("ahead", 1.01), ("ahead", math.nan), ("living", -0.1)]
)
def test_what_counts_in_the_buffer_has_bounds(name: str, bad: float) -> None:
    with pytest.raises(UserError, match=f"--elite.{name}"):
        config.make("i2l", elite={name: bad})


def test_num_envs_must_divide_the_iteration() -> None:
    with pytest.raises(UserError, match=r"--num-envs must divide --steps-per-iteration \(2048\), and 12 .*near: 8\)"):
        config.make("ppo", num_envs=12)
    config.make("ppo", num_envs=12, steps_per_iteration=1536)


def test_minibatches_must_divide_the_iteration() -> None:
    with pytest.raises(UserError, match=r"--ppo.minibatches must divide .* \(2048\), and 33 does not \(near: 32\)"):
        config.make("ppo", ppo={"minibatches": 33})


def test_a_discriminator_takes_no_more_steps_than_there_are_rows() -> None:
    small: dict[str, Any] = {"steps_per_iteration": 8, "num_envs": 1, "ppo": {"minibatches": 8}}
    config.make("gail-s", discriminator={"steps": 8}, **small)
    for method in ("i2l", "gail-s"):
        with pytest.raises(UserError, match=r"--discriminator.steps must be at most .* \(8\), not 9"):
            config.make(method, discriminator={"steps": 9}, **small)


@pytest.mark.parametrize("bad", [-1, 2**32])
def test_seeds_out_of_range_are_refused(bad: int) -> None:
    with pytest.raises(UserError, match="--seed must be from 0 to 4294967295"):
        config.make("ppo", seed=bad)


def test_another_world_for_the_same_policy() -> None:
    home = World(env="Hopper-v5", dynamics="low-gravity", density=2.0)
    assert home.under(None, Factors()).resolve().changes == {"gravity": 0.5, "density": 2.0}
    assert home.under(None, Factors(gravity=0.4)).resolve().changes == {"gravity": 0.4, "density": 2.0}
    assert home.under("high-friction", Factors()).resolve().changes == {"friction": 3.0}
    assert home.under("none", Factors(gear=0.5)).resolve().changes == {"gear": 0.5}
    with pytest.raises(UserError, match="unknown dynamics 'nonne'; did you mean 'none'"):
        home.under("nonne", Factors())
    with pytest.raises(UserError, match="gear factor"):
        home.under(None, Factors(gear=-1.0))


def test_counts_as_text() -> None:
    assert [parse_count(text) for text in ("5000000", "5e6", "5_000_000", "2048.0")] == [5_000_000] * 3 + [2048]
    for bad in ("1.5", "nan", "inf", "many", ""):
        with pytest.raises(ValueError, match="is no whole number"):
            parse_count(bad)


def test_keywords_as_text() -> None:
    assert parse_kwargs('{"frame_skip": 4}') == {"frame_skip": 4}
    assert parse_kwargs("frame_skip=4, xml_file=my.xml,terminate_when_unhealthy=false,a=True") == {
        "frame_skip": 4,
        "xml_file": "my.xml",
        "terminate_when_unhealthy": False,
        "a": True,
    }


def test_wind_as_text() -> None:
    assert parse_wind("5") == (5, 0, 0)
    assert parse_wind("1,-2,0.5") == (1, -2, 0.5)


def test_plain_values_may_be_spelled_as_on_the_command_line() -> None:
    made = config.make("i2l", match_dims="0-2,5", steps="2e6", density="torso=2", wind="5")
    assert made.options.match_dims == (0, 1, 2, 5)
    assert made.budget.steps == 2_000_000
    assert made.world.density == {"torso": 2.0}
    assert made.world.wind == (5.0, 0.0, 0.0)
    with pytest.raises(UserError, match=r"^options.match_dims: '0-x' names no entries; write 0-7 or 0,1,4$"):
        config.make("i2l", match_dims="0-x")


def test_what_a_table_does_not_name_stays_as_the_method_has_it() -> None:
    """As on the command line: --ppo.epochs 3 says nothing about the discount."""
    usual, made = config.make("i2l").options, config.make("i2l", ppo={"epochs": 3}, policy={"hidden": [8]}).options
    assert made.ppo == replace(usual.ppo, epochs=3)
    assert made.policy == replace(usual.policy, hidden=(8,))
    assert usual.ppo.discount != PPOOptions().discount  # or this would show nothing


def test_none_may_be_spelled_out() -> None:
    """TOML has no word for it."""
    assert config.make("i2l", ppo={"log_std_end": "None"}).options.ppo.log_std_end is None
    assert config.make("i2l", demo_episodes="None").options.demo_episodes is None
    with pytest.raises(UserError, match="'none' is no float"):
        config.make("i2l", ppo={"log_std_end": "none"})


def test_old_names_are_refused_and_the_new_one_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="unknown option 'trace'; it is called 'gae_lambda' now"):
        config.make("ppo", ppo={"trace": 0.9})
    for words in (["--ppo.trace", "0.9"], ["--ppo.trace=0.9"]):
        assert main(["train", "ppo", "--env", "Hopper-v5", *words]) == 2
        assert capsys.readouterr().err == "onlooker: --ppo.trace is called --ppo.gae-lambda now\n"


def test_what_takes_too_much_memory_is_refused_before_it_is_taken() -> None:
    for settings in (
        {"policy": {"hidden": (1_000_000_000,)}},
        {"policy": {"hidden": (64,) * 17}},
        {"steps_per_iteration": 1_000_000_000_000},
        {"num_envs": 1_000_000},
        {"ppo": {"learning_rate": 1e30}},
    ):
        with pytest.raises(UserError, match=r"from 1 to|above 0 and up to 1|may have 16"):
            config.make("ppo", **settings)
    wide = config.make("i2l", env="Ant-v5", steps_per_iteration=8_192_000, num_envs=8192, elite={"capacity": 1000})
    with pytest.raises(UserError, match=r"need about .* GB of memory"):
        start.measure(wide)
