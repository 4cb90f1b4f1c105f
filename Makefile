# Everything sets itself up: the first call makes .venv, later calls find it ready.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

BUILD_FILES := pyproject.toml setup.py $(wildcard src/jitney/runtime/native/*.pyx)
BUILD_FILES += $(wildcard src/jitney/runtime/native/*.pxd src/jitney/runtime/native/*.pxi src/jitney/runtime/native/*.h)

.PHONY: tour test test-quick fuzz lint bench clean

tour: $(VENV)/.run  ## three programs on their way to machine code, and what they cost
	@$(BIN)/jitney tour

test: $(VENV)/.test  ## all tests
	@$(BIN)/python -m pytest -n auto

test-quick: $(VENV)/.test  ## all but the slow ones, up to the first failure
	@$(BIN)/python -m pytest -n auto -m "not slow" -x

fuzz: $(VENV)/.test  ## random programs, against the interpreter and real jax; FUZZ="--count 100000 --seed 7"
	@PYTHONPATH=tests/fuzz $(BIN)/python -m differential run $(FUZZ)

lint: $(VENV)/.test  ## ruff, pyright, and the layers
	@$(BIN)/ruff check --output-format concise .
	@$(BIN)/pyright --level error
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/.bench  ## against real jax
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .ruff_cache .hypothesis
	find src -name '*.so' -delete
	rm -f src/jitney/runtime/native/*.c
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of packages.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BUILD_FILES) | $(BIN)/python
	$(PIP) install -e .
	@touch $@

$(VENV)/.test: $(BUILD_FILES) | $(BIN)/python
	$(PIP) install -e '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(BUILD_FILES) | $(BIN)/python
	$(PIP) install -e '.[bench]'
	@touch $@ $(VENV)/.run
