# VENV holds the tools; `make venv` makes it where it is missing.
VENV ?= .venv
PY := $(VENV)/bin/python

.PHONY: venv demo test check bench soak chaos

venv: $(VENV)/.ready
$(VENV)/.ready: pyproject.toml
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet --editable '.[dev]'
	touch $@

demo: venv
	$(VENV)/bin/ares-worker demo

test: venv
	$(PY) -m pytest -n 2 tests

check: venv
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m pytest -n 2 tests

bench: venv
	$(PY) -m tests.bench
