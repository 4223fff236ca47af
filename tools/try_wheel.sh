#!/usr/bin/env bash
# Installs the wheel in an empty environment outside of the checkout, and uses it as somebody would who has just that.
#   tools/try_wheel.sh newest    with what constraints.txt pins, the newest that was tried
#   tools/try_wheel.sh lowest    with the lowest versions that pyproject.toml allows
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
wheel=$(ls "$here"/dist/onlooker-*.whl)
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
cd "$away"
case ${1:-newest} in
  newest) cp "$here/constraints.txt" constraints.txt ;;
  lowest) "$python" "$here/tools/lowest.py" export > constraints.txt ;;
  *) echo "newest or lowest, not $1"; exit 2 ;;
esac
"$python" -m venv venv
venv/bin/python -m pip install --quiet --constraint constraints.txt "$wheel[export]"
export ONLOOKER_CACHE="$away/cache"
onlooker="venv/bin/onlooker"
small=(--steps 8192 --num-envs 4 --steps-per-iteration 1024)
$onlooker train i2l --env Hopper-v5 --dynamics low-gravity "${small[@]}" --out runs/hopper
$onlooker evaluate runs/hopper --episodes 2
$onlooker report runs
$onlooker export runs/hopper policy.onnx
$onlooker evaluate policy.onnx --episodes 2
test -s runs/report/index.html
venv/bin/python - <<'PY'
import gymnasium, onlooker
ours, theirs = onlooker.load("runs/hopper"), onlooker.load("policy.onnx")
env = gymnasium.make("onlooker/Hopper-v5", dynamics="low-gravity")
obs, _ = env.reset(seed=0)
assert (ours(obs) == theirs(obs)).all()
assert "site-packages" in onlooker.__file__, onlooker.__file__
print("onlooker", onlooker.__version__, "as a wheel: well")
PY
