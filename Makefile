# make train   learn something and see it        make test    lint, types and tests
# Both set everything up on a bare checkout, and need the network only the first time.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: train test test-learning fuzz soak lint format docs bench wheel try-wheel clean

train: $(READY)
	$(BIN)/onlooker train i2l --env HalfCheetah-v5 --dynamics low-gravity --steps 2e6 --video

# Most of the tests' time is XLA compiling the same programs; what one test compiled, the next one takes from here.
test: export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/.pytest_cache/xla
test: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0
test: export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES := -1
test: lint
	$(BIN)/python -m pytest -n 2 -m "not learning"

test-learning: $(READY)
	$(BIN)/python -m pytest -m learning

# Ten thousand broken inputs; another seed makes others: make fuzz SEED=7
SEED ?= 0
fuzz: $(READY)
	$(BIN)/python tests/fuzzing.py --cases 10000 --seed $(SEED)

# Kills runs and grids again and again, and watches a long run's memory. Takes more than an hour.
soak: $(READY)
	$(BIN)/python tests/soak.py --seed $(SEED)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/oxlint src

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, build/docs/index.html: pages, options and reference, then the interactive page of the results in it.
docs: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/docs
	$(BIN)/onlooker report results/paper --out build/docs/report
	@echo "open build/docs/index.html"

wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

# What somebody has who has only the wheel: a training, an evaluation, a report, an export.
try-wheel: wheel
	PYTHON=$(PYTHON) tools/try_wheel.sh newest
	PYTHON=$(PYTHON) tools/try_wheel.sh lowest

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "onlooker needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf .venv build dist src/*.egg-info
