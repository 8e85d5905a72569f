# The project's commands. Each one first makes the environment, once per requirements.lock.
# Extra arguments: make test ARGS="tests/hicache -x"; another Python: make setup PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed-from-lock
LOCK_VENV := $(VENV)/pip-tools
PIP_TOOLS := pip-tools==7.6.2
UV := uv==0.13.9
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup fix check test run smoke bench docs lock parts live live-routers live-vllm live-dynamo lock-parts bench-planted fuzz bench-peers

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv from requirements.lock
	@:

# A working environment is kept and brought up to date; one that is missing, broken or too old is made anew.
# The lock is complete, so pip resolves nothing (--no-deps) and builds nothing (--only-binary); -qq keeps errors.
$(STAMP): requirements.lock
	@command -v $(PYTHON) >/dev/null || { \
	  echo "kvrace needs Python 3.11 or newer and finds no '$(PYTHON)': install it, or name one: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "kvrace needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1): install a newer one, or name it: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.11" >&2; exit 1; }
	@echo "setting up $(VENV) (about a minute, once)" >&2
	@$(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r requirements.lock
	@touch $@

fix: $(STAMP) ## let ruff mend and format the code
	@$(PY) -m ruff check --quiet --fix .
	@$(PY) -m ruff format --quiet .

check: $(STAMP) ## lint, formatting and types; changes nothing
	@status=0; \
	$(PY) -m ruff check --quiet . || status=1; \
	$(PY) -m ruff format --check . || status=1; \
	$(PY) -m mypy || status=1; \
	exit $$status

# One process a core; the tests of a file stay together, because they share what is costly to make.
test: $(STAMP) ## the whole CPU test suite
	@$(PY) -m pytest -n auto --dist loadfile $(ARGS)

# Exit status 1 of the command means "corruption found", which is what this scenario is there to show.
run: $(STAMP) ## the main command: 60 sessions, and the race they lose
	@status=0; $(PY) run.py --scenario hicache_bf16 --sessions 60 $(ARGS) || status=$$?; \
	case $$status in \
	  1) echo "make run: corruption found, as this scenario is there to show (the command's exit status is 1)";; \
	  0) echo "make run: no corruption found, so the race was not reproduced" >&2; exit 1;; \
	  *) echo "make run: the command failed with exit status $$status" >&2; exit $$status;; \
	esac

# Six sessions may lose the race or not; an empty report is a crash whatever the exit status.
smoke: $(STAMP) ## a run of 6 sessions, as JSON
	@status=0; report=$$($(PY) run.py --scenario hicache_bf16 --sessions 6 --json $(ARGS)) || status=$$?; \
	test $$status -le 1 || { echo "make smoke: the command failed with exit status $$status" >&2; exit $$status; }; \
	printf '%s\n' "$$report" | $(PY) -m json.tool

bench: $(STAMP) ## measure time and memory
	@$(PY) benchmarks/run_all.py $(ARGS)

docs: $(STAMP) ## measure again what the documents quote
	@$(PY) docs/build.py $(ARGS)

lock: ## resolve pyproject.toml into requirements.lock, keeping pins that still fit
	@$(PYTHON) -m venv --clear $(LOCK_VENV)
	@$(LOCK_VENV)/bin/python -m pip install -qq --disable-pip-version-check "$(PIP_TOOLS)"
	@$(LOCK_VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras --extra dev --no-header --no-emit-options \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock $(ARGS) pyproject.toml

# Real servers and load balancers, each in an environment of its own under .venvs, made once per lock. They are never in
# .venv: their pins are not ours, and nobody needs them who does not want them.
LIVE_LOCKS := benchmarks/live/requirements
INSTALLED := .installed-from-lock

.venvs/%/$(INSTALLED): $(LIVE_LOCKS)/%.lock
	@echo "setting up .venvs/$*" >&2
	@$(PYTHON) -m venv --clear .venvs/$*
	@.venvs/$*/bin/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r $<
	@touch $@

# torch by version alone: a machine may have a wheel of its own for it, with another hash. 3.5 GB in all.
.venvs/vllm/$(INSTALLED): $(LIVE_LOCKS)/vllm.lock
	@echo "setting up .venvs/vllm (3.5 GB, several minutes, once)" >&2
	@$(PYTHON) -m venv --clear .venvs/vllm
	@.venvs/vllm/bin/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: torch==2.13.0
	@.venvs/vllm/bin/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r $<
	@touch $@

parts: .venvs/parts/$(INSTALLED) ## install sglang-router and smg for tests/real_parts
	@:

live-routers: $(STAMP) .venvs/parts/$(INSTALLED) ## the main scenario through other people's load balancers
	@$(PY) benchmarks/live_servers.py routers $(ARGS)

live: $(STAMP) .venvs/llamacpp/$(INSTALLED) ## probe and load a real language model (llama.cpp)
	@$(PY) benchmarks/live_servers.py llamacpp $(ARGS)

live-vllm: $(STAMP) .venvs/vllm/$(INSTALLED) ## the same for vLLM on CPU, float32 and bfloat16
	@$(PY) benchmarks/live_servers.py vllm $(ARGS)

live-dynamo: $(STAMP) .venvs/dynamo/$(INSTALLED) ## the same for the Dynamo mocker, prefill/decode
	@$(PY) benchmarks/live_servers.py dynamo $(ARGS)

lock-parts: ## resolve benchmarks/live/requirements/*.in into their locks
	@$(PYTHON) -m venv --clear $(LOCK_VENV)
	@$(LOCK_VENV)/bin/python -m pip install -qq --disable-pip-version-check "$(UV)"
	@cd $(LIVE_LOCKS) && for name in parts llamacpp dynamo vllm; do \
	  $(CURDIR)/$(LOCK_VENV)/bin/uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 \
	    $$(test $$name = parts || echo --no-deps) $$name.in --output-file $$name.lock || exit 1; \
	done
	@cd benchmarks/peers && $(CURDIR)/$(LOCK_VENV)/bin/uv pip compile --quiet --generate-hashes --no-header \
	  --python-version 3.11 requirements.in --output-file requirements.lock

bench-planted: $(STAMP) ## damage planted into sound replies: found, named, intervals, and nothing planted (1 h)
	@$(PY) -m benchmarks.planted $(ARGS)

# atheris is nobody's dependency: it lies beside the environment and is seen by the fuzzers alone.
FUZZER := .venvs/fuzz

$(FUZZER)/$(INSTALLED): benchmarks/fuzz/requirements.lock $(STAMP)
	@rm -rf $(FUZZER)
	@$(PY) -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --target $(FUZZER) -r $<
	@touch $@

fuzz: $(FUZZER)/$(INSTALLED) ## fuzz everything that reads a server's bytes (9 minutes; ARGS="--seconds 600")
	@PYTHONPATH=$(FUZZER) $(PY) -m benchmarks.fuzz $(ARGS)

# infer-check in an environment of its own: it is measured beside us and never imported.
PEERS := .venvs/peers

$(PEERS)/$(INSTALLED): benchmarks/peers/requirements.lock
	@echo "setting up $(PEERS) (290 MB, once)" >&2
	@$(PYTHON) -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r $<
	@touch $@

bench-peers: $(STAMP) $(PEERS)/$(INSTALLED) ## stress and its peers against planted servers (ARGS="--minutes 25")
	@$(PY) -m benchmarks.peers --infer-check $(PEERS)/bin/infer-check $(ARGS)
