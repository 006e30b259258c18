# PYTHON makes the virtual environment VENV; everything else runs inside it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: venv demo test lint check bench soak chaos

venv: $(VENV)/.ready
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: venv
	$(BIN)/ares-worker demo

test: venv
	$(BIN)/pytest -n auto

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

bench: venv
	PYTHONPATH=tests $(BIN)/python -m bench $(ARGS)
