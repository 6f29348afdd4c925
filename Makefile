# Everything sets itself up: a virtual environment in .venv, with only Python 3.11+, git and make on the machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
SEED ?= 0
# The versions that all of this was tested with; `make CONSTRAINTS= test` takes the newest ones.
CONSTRAINTS ?= constraints.txt
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(CONSTRAINTS:%=--constraint %)
# Compiled modules are kept, whatever the machine's habit: commands that the tests start would compile them each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test soak oldest newest lock check format study tables bench docs dist clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a campaign on a small made-up pool, killed and resumed (about a minute the first time)"
	@echo "make test    all tests, and the ten slowest of them"
	@echo "make soak    the long tests of survival: hundreds of kills, both databases, fuzzing; SEED=3 hunts elsewhere"
	@echo "make oldest  the tests with the oldest dependencies that are allowed, make newest with the newest ones"
	@echo "make lock    constraints.txt anew, with the newest versions of all dependencies"
	@echo "make check   format, lint, types, layers"
	@echo "make study   every coverage table of the docs: whole pages in docs/, tables of other pages in build/study/ (hours)"
	@echo "make tables  every method on ten real tables, for docs/simulations.md (some minutes)"
	@echo "make bench   how fast and how good, side by side with others"
	@echo "make docs    the documentation as a static site in site/"
	@echo "make pictures  the screenshots of the README and the home page, from a campaign that is run for them"
	@echo "make dist    the release in dist/, the same bytes wherever it is built"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("ratewise needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 demo") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(INSTALL) --editable '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run
	$(BIN)/ratewise demo

test: $(VENV)/.dev
	@.ci/programs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=10

soak: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m soak -n $(JOBS) --dist worksteal -o timeout=3600
	OMP_NUM_THREADS=1 RATEWISE_SOAK=1 $(BIN)/python -m pytest tests/statistical -n $(JOBS) --dist worksteal -o timeout=3600
	$(BIN)/python benchmarks/coverage_fuzz.py --mode quick --seed $(SEED)

# Older libraries warn of what newer ones beside them do otherwise, and golden numbers are those of the locked ones.
oldest:
	rm -rf build/oldest && mkdir -p build
	.ci/oldest > build/oldest.txt
	PYTEST_ADDOPTS="-W default::DeprecationWarning -W default::FutureWarning -W default::RuntimeWarning --ignore tests/test_golden.py" \
	$(MAKE) VENV=build/oldest CONSTRAINTS=build/oldest.txt test

newest:
	rm -rf build/newest && mkdir -p build
	$(MAKE) VENV=build/newest CONSTRAINTS= check test

lock:
	mkdir -p build
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev,text,train]'
	build/lock/bin/python -m pip --disable-pip-version-check list --format freeze \
	  --exclude ratewise --exclude pip --exclude setuptools | sed 's/+.*//' > constraints.txt

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

study: $(VENV)/.dev tables
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/coverage.py --write docs/coverage.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/coverage_everyday.py --write docs/coverage-everyday.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/coverage_questions.py --write docs/coverage-questions.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/everyday.py --write docs/everyday.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/old_labels.py --write build/study/old-labels.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/auto.py --features | tee build/study/auto-features.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/auto.py --from-nothing | tee build/study/auto-from-nothing.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/caution.py | tee build/study/caution.md

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/solver.py
	$(BIN)/python benchmarks/draws.py
	$(BIN)/python benchmarks/floor.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/campaign.py
	$(BIN)/python benchmarks/tables_lazy.py
	$(BIN)/python benchmarks/judges.py

tables: $(VENV)/.dev
	mkdir -p build/study
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/tables.py --write docs/simulations.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/auto.py | tee build/study/auto.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/peers.py | tee build/study/peers.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/leaderboard.py | tee build/study/leaderboard.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/inputs.py | tee build/study/inputs.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/chains.py | tee build/study/chains.md

docs: $(VENV)/.dev
	$(BIN)/python docs/make_cli_page.py
	$(BIN)/python docs/make_reference_page.py
	$(BIN)/mkdocs build --strict

dist: $(VENV)/.dev
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build

pictures: $(VENV)/.dev
	$(BIN)/python docs/make_pictures.py

clean:
	rm -rf $(VENV) build/oldest build/newest build/lock dist site ratewise-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
