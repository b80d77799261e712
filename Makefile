# make test    set everything up on a fresh Debian with python3, then check and test
# make check   lint, types and tests in the environment that is there
# make docs    write the help pages in docs/ from --help

VENV ?= .venv
PYTHON := $(VENV)/bin/python

.PHONY: test check setup docs bench

test: setup check

setup:
	@scripts/setup $(VENV)

check:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest -q --durations=10

docs:
	$(PYTHON) scripts/help_pages.py

bench:
	$(PYTHON) benchmarks/speed.py
