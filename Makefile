# PYTHON makes the virtual environment VENV with EXTRAS; everything else runs inside it.
# `make test` is the suite for every day, `make check` what a change must pass.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev
BIN := $(VENV)/bin
# Tests wait longer than they compute: two share a core.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(16, 2 * (os.cpu_count() or 1)))')

.PHONY: venv demo test lint check bench soak chaos sweep generate

venv: $(VENV)/.ready
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: venv
	$(BIN)/ares-worker demo

test: venv
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

bench: venv
	PYTHONPATH=tests $(BIN)/python -m bench $(ARGS)

# Longer proofs: random failures, and steady work while nothing may grow.
# With ARGS, chaos is the random part alone; `sweep` tries every fault in its place, and what
# `make test` shows in short at its full size: a hundred subscribers, groups, 20,000 events.
chaos: venv $(if $(ARGS),,sweep)
	PYTHONPATH=tests $(BIN)/python -m endurance.chaos $(ARGS)

sweep: venv
	$(BIN)/pytest -n auto -m chaos

soak: venv
	PYTHONPATH=tests $(BIN)/python -m endurance.soak $(ARGS)

# Rewrites what is derived: dashboards, alert rules, the chart's copies, the page of settings.
generate: venv
	$(BIN)/python -m ops.dashboards
	$(BIN)/python helm/generate
	$(BIN)/python -m worker.settings.docs > docs/settings.md.new && mv docs/settings.md.new docs/settings.md
