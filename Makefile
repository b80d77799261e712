# make test    set everything up on a fresh Debian with python3, then check and test
# make check   lint, types and tests in the environment that is there
# make test-all  the same, and the oracles that rarely change: before an issue is resolved
# make format  write Python, JavaScript and style sheets in their one form
# make fuzz    a million mutated inputs to every reader, a quarter of an hour
# make lowest  the tests of the core with the oldest libraries that are allowed
# make docs    write the help pages in docs/ from --help

VENV ?= .venv
PYTHON := $(VENV)/bin/python
# The environment brings Node.js, for the page's checks and tests.
export PATH := $(abspath $(VENV)/bin):$(PATH)

# What times something runs alone; all else in two processes, what drives a browser last.
TIMED := tests/measure tests/engines tests/api
BROWSER := tests/page

# Mutated inputs a target for `make fuzz`.
RUNS ?= 62500

.PHONY: test test-all check setup docs format bench fuzz lowest

test: setup check

test-all: test
	$(PYTHON) -m pytest -q -n 2 --durations=8 -m "slow and not alone"

setup:
	@scripts/setup $(VENV)

check:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	npm run --silent check
	$(PYTHON) -m pytest -q -n 2 --durations=8 -m "not alone and not slow" --ignore=$(BROWSER)
	$(PYTHON) -m pytest -q --durations=8 -m alone $(TIMED)
	$(PYTHON) -m pytest -q -n 2 --durations=8 -m "not slow" $(BROWSER)

docs:
	$(PYTHON) scripts/help_pages.py

format:
	$(VENV)/bin/ruff format .
	npm run --silent format

fuzz:
	$(PYTHON) tests/fuzz/long.py --runs $(RUNS)

lowest:
	python3 scripts/lowest

bench:
	$(PYTHON) benchmarks/speed.py
