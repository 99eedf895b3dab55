# Everything runs in .venv, which the first target that needs it makes. Only Python 3.11+ and make are required.

# The first interpreter that is new enough and can make a virtual environment.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
  "$$p" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
VENV ?= .venv
WORKERS ?= 2
ARGS ?=
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all check bench eval sync fmt clean

help: ## this table
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(READY) ## the environment alone

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed; name one: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Making $(VENV): about a minute, once."
	@"$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY) ## replay the incident on real data: an MCP client, the proxy, three replicas, one killed
	$(BIN)/spillcache demo $(ARGS)

test: $(READY) ## every test, on a server of its own (one test: make test ARGS='tests/test_x.py -k name')
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-all: $(READY) ## the wide matrix: every server version to be had, long property runs
	$(BIN)/python -m scripts.test_matrix $(ARGS)

check: $(READY) ## format, lint, types, layers, generated code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m scripts.unasync --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(READY) ## the figures, as ratios measured in one run
	$(BIN)/python -m benchmarks $(ARGS)

eval: $(READY) ## the incident with a real model: EVAL_BASE_URL, EVAL_MODEL, EVAL_API_KEY
	$(BIN)/python -m scripts.eval $(ARGS)

sync: $(READY) ## regenerate the synchronous side from the asynchronous one
	$(BIN)/python -m scripts.unasync

fmt: $(READY) ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) .servers .foreign .reports .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
