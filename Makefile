# Everything sets itself up: the first call makes .venv, later calls find it ready. The commands are in
# tools/run.py, for machines without make; `make test PYTHON=python3.13 VENV=.venv-3.13` takes another Python.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
RUN := $(PYTHON) tools/run.py --venv $(VENV)

.PHONY: tour test test-live test-quick libraries packages oracle fuzz sanitize format lint bench wheels docs pictures clean

tour:  ## three programs on their way to machine code, and what they cost
	@$(RUN) tour

test:  ## all tests; real jax is not needed
	@$(RUN) test

test-live:  ## all tests, with real jax beside: tests that need it, and a sample of its recorded answers
	@$(RUN) test-live

test-quick:  ## a fixed twelfth of the tests, up to the first failure
	@$(RUN) test-quick

libraries:  ## libraries for JAX on this package, in .venv-libraries; NEWEST=1 takes the newest of each
	@$(PYTHON) tools/run.py $(if $(NEWEST),--newest) libraries

packages:  ## programs of packages that require JAX 0.12; PACKAGES="quax pgx" runs these; needs Python 3.12
	@$(RUN) packages $(PACKAGES)

oracle:  ## record what real jax answers to new cases; ORACLE="tests/numpy --record-anew" asks all of a part
	@$(RUN) oracle $(ORACLE)

fuzz:  ## random programs, against the interpreter and real jax; FUZZ="--count 100000 --seed 7"
	@$(RUN) fuzz $(FUZZ)

sanitize:  ## the native core under AddressSanitizer and ThreadSanitizer
	@$(RUN) sanitize

format:  ## the code, as lint wants it
	@$(RUN) format

lint:  ## ruff, its format, pyright, the layers, annotations, borrowed sentences, and messages of commits
	@$(RUN) lint

bench:  ## against real jax
	@$(RUN) bench

wheels:  ## wheels for all platforms; WHEELS="--only cp313-manylinux --try quick"
	@$(RUN) wheels $(WHEELS)

docs:  ## the site of the documents, with executed tutorials, in docs/_build/html
	@$(RUN) docs

pictures:  ## pictures of the documents, from programs compiled here
	@$(RUN) pictures

clean:
	rm -rf $(VENV) .venv-* build dist docs/_build docs/api src/*.egg-info .pytest_cache .ruff_cache .hypothesis
	find src -name '*.so' -delete
	rm -f src/jitney/runtime/native/*.c src/jitney/core/pytree/*.c src/jitney/core/*.c
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
