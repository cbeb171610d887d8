# Everything installs into .venv beside this file; nothing else on the machine is changed.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
DATA ?= ../shared/data

.PHONY: help demo test check bench soak clean

help:  ## show what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(VENV)/.core  ## learn a small corpus and answer questions from it: no key, no broker, no model download
	@$(BIN)/hive-mind demo

test: $(VENV)/.dev  ## everything: format, lint, types and all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.dev  ## the fast part of `make test`, for before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile -q -m "not slow and not embeddings and not data" \
		tests/unit tests/laws tests/contract tests/architecture

bench: $(VENV)/.dev  ## measure: speed, memory and retrieval quality (see benchmarks/README.md)
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks.all --data $(DATA)

soak: $(VENV)/.dev  ## simulate 20,000 hives of each topology under every fault (hours): SEEDS=0:20000
	$(BIN)/hive-mind simulate --topology flat,federated,sharded --seeds $(or $(SEEDS),0:20000) --faults all --jobs 2

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/pip
	$(PIP) install --editable .
	@touch $@

# torch by itself first: the version named here has a CPU build, and a plain `torch` would bring gigabytes of CUDA.
$(VENV)/.dev: pyproject.toml | $(VENV)/bin/pip
	$(PIP) install torch==2.13.0
	$(PIP) install --editable '.[embeddings,ann,openai,llm,dev]'
	@touch $@ $(VENV)/.core
