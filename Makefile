# Everything installs into .venv beside this file; nothing else on the machine is changed.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
DATA ?= ../shared/data

.PHONY: help demo test check bench soak chaos chaos-fleet clean redis-server

help:  ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/.core  ## learn a small corpus and answer questions from it: no key, no broker, no model download
	@$(BIN)/hive-mind demo

test: $(VENV)/.dev redis-server  ## everything: format, lint, types and all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.dev redis-server  ## the fast part of `make test`, for before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist loadfile -q -m "not slow and not embeddings and not data" \
		tests/unit tests/laws tests/contract tests/architecture -k "not eventhubs and not servicebus" --ignore-glob='*processes*'

bench: $(VENV)/.dev redis-server  ## measure: speed, memory and retrieval quality (see benchmarks/README.md)
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks.all --data $(DATA)

soak: $(VENV)/.dev  ## simulate 20,000 hives of each topology under every fault (hours): SEEDS=0:20000
	$(BIN)/hive-mind simulate --topology flat,federated,sharded --seeds $(or $(SEEDS),0:20000) --faults all --jobs 2

chaos: $(VENV)/.dev redis-server  ## kill, stop and cut off real processes for long: ROUNDS=100 OVER=redis|amqp SEED= PAUSE=30
	$(BIN)/python -m tests.chaos.storm $(if $(SEED),--seed $(SEED)) --rounds $(or $(ROUNDS),100) --over $(or $(OVER),redis) \
		--pause-s $(or $(PAUSE),30)

chaos-fleet: $(VENV)/.dev redis-server  ## change a fleet while it, and whoever changes it, is killed: KILLS=50 SEED=
	$(BIN)/python -m tests.chaos.fleet_storm $(if $(SEED),--seed $(SEED)) --kills $(or $(KILLS),50)

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
	$(PIP) install --editable '.[embeddings,ann,openai,llm,redis,servicebus,eventhubs,otel,prometheus,dev]'
	@touch $@ $(VENV)/.core

# The tests of the Redis bus run a real server. Where it can't be installed they say so and are skipped.
redis-server:
	@command -v redis-server >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& { apt-get install --yes --quiet --no-install-recommends redis-server >/dev/null 2>&1 || { apt-get update --quiet >/dev/null \
		&& apt-get install --yes --quiet --no-install-recommends redis-server >/dev/null; }; }; } || true
