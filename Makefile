# make demo: a fresh machine to a first training run.  make test: the whole suite, linter and type checker.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests on real data find it here; without the folder they are skipped, saying so.
DATA := $(abspath ../shared/data)
ifneq ($(wildcard $(DATA)),)
export TUX_TEST_DATA ?= $(DATA)
endif

.PHONY: demo test test-cpus bench simulate kills clean

demo: $(VENV)/installed
	$(BIN)/tux run mf

test: $(VENV)/installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tests/installed_tree.py build/tree
	$(BIN)/mypy --config-file pyproject.toml build/tree/tux
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# The whole suite, or the files that TESTS names, compiled for processors with fewer instructions and for this one.
test-cpus: $(VENV)/installed-test
	$(BIN)/python tests/cpus.py $(TESTS)

bench: $(VENV)/installed
	$(BIN)/python -m bench.kernels

# The proof of SSP at length: 2,000 seeds without a false alarm, and every mutant caught.
simulate: $(VENV)/installed-test
	$(BIN)/python tests/simulate.py

# Fifty runs in a row that are killed at random moments; nothing may be left of any.
kills: $(VENV)/installed-test
	$(BIN)/python tests/kill_loop.py --runs 50

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@ $(VENV)/installed
