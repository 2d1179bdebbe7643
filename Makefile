# make demo: a fresh machine to a first training run.  make test: linter, type checker, and all tests but the slow ones.
# make test-slow, make test-long: only the tests marked so.  make test-all: all.  make docs: the documents as a site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A file is run by one process; in the order of tests/conftest.py, where xdist's own puts those of few tests last.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Tests on real data find it here; without the folder they are skipped, saying so.
# The path is tested as a relative one: make would take a blank in the path of the checkout for the end of a name.
ifneq ($(wildcard ../shared/data),)
export TUX_TEST_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo docs test test-slow test-long test-all test-clusters test-clusters-long java browser test-cpus bench prove faults soak fuzz release clean

demo: $(VENV)/installed
	$(BIN)/tux run mf

test: $(VENV)/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST)

# hypothesis draws a quarter of its examples in `make test` alone, and all of them here
test-slow test-long test-all: export TUX_TEST_EXAMPLES := all

# What takes long and rarely tells more than the rest.
test-slow: $(VENV)/installed-test
	$(PYTEST) -m 'slow and not long'

# What takes longest; CI leaves it out.
test-long: $(VENV)/installed-test
	$(PYTEST) -m 'long and not clusters'

test-all: test test-slow test-long

# Back-ends on engines that run on this machine: none, Ray, Spark. A process for each of the three, as they wait a lot.
test-clusters: java $(VENV)/installed-clusters
	$(BIN)/python -m pytest -rs -m 'clusters and not long' --numprocesses 3 --dist loadfile tests/clusters

# What takes longest of that, and each fault on each engine TIMES times, as a table.
test-clusters-long: java $(VENV)/installed-clusters
	$(BIN)/python -m pytest -rs -m 'clusters and long' tests/clusters
	$(BIN)/python -m faults --only on- $(if $(TIMES),--times $(TIMES))

# Chromium, for the slow tests of the page of tux watch.
browser:
	.ci/browser

java:
	.ci/java

# The whole suite, or the files that TESTS names, compiled for processors with fewer instructions and for this one.
test-cpus: $(VENV)/installed-test
	$(BIN)/python tests/cpus.py $(TESTS)

# The documents as a site, in build/site: strict, so that a link to nothing is an error.
docs: $(VENV)/installed-docs
	$(BIN)/python -m mkdocs build --strict

bench: $(VENV)/installed
	$(BIN)/python -m bench.kernels

# The proof by random programs and of SSP: SEEDS of them without a wrong result, and every mutant caught.
SEEDS ?= 2000
prove: $(VENV)/installed-test
	$(BIN)/python tests/prove.py $(SEEDS)

# The matrix of faults: real runs to which something happens. TIMES for each, ONLY those whose names begin so.
ONLY ?=
faults: $(VENV)/installed-test
	$(BIN)/python -m faults --only "$(ONLY)" $(if $(TIMES),--times $(TIMES))

# Runs that a seed draws, to which faults happen again and again, for HOURS.
HOURS ?= 1
soak: $(VENV)/installed-test
	$(BIN)/python -m soak --hours $(HOURS)

# Damaged inputs for every parser: INPUTS for each, and a tenth of them with indices checked in compiled loops.
INPUTS ?= 100000
fuzz: $(VENV)/installed-test
	$(BIN)/python -m fuzz --inputs $(INPUTS)
	$(BIN)/python -m fuzz --inputs $$(($(INPUTS) / 10)) --seed 1 --bounds

# The wheel and the sdist, in dist/.
release: $(VENV)/installed-test
	$(BIN)/python tests/wheels.py --only-build dist

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(VENV)/installed

$(VENV)/installed-clusters: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[ray,spark]' 'ray[data]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
