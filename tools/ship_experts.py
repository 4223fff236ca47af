"""Make the files in src/onlooker/assets from the experts of grids/experts.toml.

    onlooker grid grids/experts.toml --out results/experts
    python tools/ship_experts.py results/experts

For each robot: the expert's policy; ten full deterministic episodes; the best of them by return, with and without its
actions, as the one demonstration that the paper's experiments watch.
"""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from onlooker import demos
from onlooker.demos.shipped import ROBOTS, robot_of
from onlooker.evaluation import by_policy, evaluate, to_demos
from onlooker.policies import policy_file
from onlooker.runs.folder import RunFolder
from onlooker.runs.layout import read_json
from onlooker.storage import atomic, sha256

ASSETS = Path(__file__).parents[1] / "src" / "onlooker" / "assets"
RECORDED = 20  # episodes from fixed seeds; the first ten that are full are kept


def ship(run: RunFolder) -> None:
    """Write one robot's files."""
    robot, horizon = robot_of(run.config.world.env), 1000
    made = {
        "command": f"onlooker grid grids/experts.toml (cell {run.path.name})",
        "date": datetime.now(UTC).date().isoformat(),
        **{name: value for name, value in read_json(run.path / "result.json").items() if name != "hours"},
    }
    policy = replace(policy_file.load(run.path / "policy.npz"), meta=made)
    policy_file.save(ASSETS / f"{robot}-expert.npz", policy)
    recordings = evaluate(policy.world, by_policy(policy), RECORDED)
    full = [recording for recording in recordings if len(recording.reward) == horizon]
    made["full_episodes"] = f"{len(full)} of {RECORDED}"
    best = to_demos([max(full, key=lambda recording: recording.ret)], policy.world, made)
    for name, demo in {
        f"{robot}": best.states_only(),
        f"{robot}-actions": best,
        f"{robot}-10": to_demos(full[:10], policy.world, made),
    }.items():
        demo = replace(demo, meta=demo.meta | {"date": made["date"]})
        demos.save(ASSETS / f"{name}.npz", demo, overwrite=True)
    print(f"{robot}: {made['full_episodes']} full, best {best.meta['returns'][0]:.0f}")


def main() -> None:
    """Ship every finished expert found under the folder given."""
    for config in sorted(Path(sys.argv[1]).glob("*/config.json")):
        run = RunFolder.open(config.parent)
        if run.finished and robot_of(run.config.world.env) in ROBOTS:
            ship(run)
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in sorted(ASSETS.glob("*.npz")))
    with atomic(ASSETS / "SHA256SUMS") as stream:
        stream.write(sums.encode())


if __name__ == "__main__":
    main()
