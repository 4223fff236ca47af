"""A trained policy by any of its names: a run folder, a file, a shipped expert. Loads no jax."""

from dataclasses import replace
from pathlib import Path

from onlooker.demos import shipped
from onlooker.envs.world import World
from onlooker.errors import UserError
from onlooker.importing import allow
from onlooker.policies import policy_file
from onlooker.policies.policy import Acts
from onlooker.runs import layout

ONNX = ".onnx"


def load(source: str | Path, *, env: str | None = None, trust: bool = False) -> Acts:
    """The policy of a run folder, of a `policy.npz` or an `.onnx` file, or of a shipped expert (`halfcheetah`).

    policy = onlooker.load("runs/..."); action = policy(obs)

    `env` is the world of a policy from another program, whose file does not say it. `trust` the code of a stranger's
    own environment, if the policy names one.
    """
    path = Path(source)
    if not path.exists() and shipped.robot_of(str(source)) is not None:
        return policy_file.load(shipped.expert_path(str(source)))
    if not path.exists():
        raise UserError(f"there is no run folder, policy file or shipped expert {source}")
    if path.suffix == ONNX:
        from onlooker.policies import onnx_file

        return onnx_file.load(path, None if env is None else World(env=env))
    if env is not None:
        raise UserError(f"--env is for a policy from another program, an {ONNX} file; {source} says where it lives")
    file = _file(path)
    policy = policy_file.load(file)
    if trust:
        allow(policy.world.env)
    return replace(policy, world=policy.world.kept_in(file.parent / layout.ROBOT))


def _file(path: Path) -> Path:
    """The policy file of a run folder, or the file itself."""
    file = path / layout.POLICY if path.is_dir() else path
    if not file.exists() and not (path / layout.CONFIG).exists():
        raise UserError(f"{path} is no run folder, and holds no {layout.POLICY}")
    if not file.exists():
        raise UserError(f"{path} holds no finished policy yet; go on with `onlooker train --resume {path}`")
    return file
