# `make demo` and `make test` do everything from a bare machine with Python (3.11 or later), pip and make.
# Everything is installed into .venv, once: the stamp .venv/.ready is newer than the lock and pyproject.toml.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
DOCS_READY := $(VENV)/.docs-ready
AUDIT_READY := $(VENV)/.audit-ready
SPARK_READY := $(VENV)/.spark-ready
LOCK := requirements/test.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Two workers on two cores: with more than one thread each they would only wait for one another. What Python compiles is
# kept, wherever it is told not to: tests start many processes.
ONE_THREAD := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 XLA_FLAGS='--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'

# Real data for the benchmarks and for the tests that need it. Where it is not there, they skip and say so.
DISCREET_DATA ?= $(wildcard ../shared/data)
ifneq ($(DISCREET_DATA),)
export DISCREET_DATA := $(abspath $(DISCREET_DATA))
endif

.PHONY: demo test spark lint types check papers audit bench bench-check docs trusted lock clean help

help:  ## what can be made
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-11s %s\n", $$1, $$2}' Makefile

demo: $(READY)  ## fit the bundled table privately and print the result with its guarantee
	@$(BIN)/python examples/demo.py

test: $(READY)  ## all tests, doctests and the README's examples
	@$(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist worksteal

spark: $(SPARK_READY)  ## the tests that need PySpark and a JVM (Java 17 or later), which `make test` skips
	@$(ONE_THREAD) $(BIN)/python -m pytest -q tests/records/test_spark.py tests/records/test_rows_at_length.py -k 'spark or Spark'

lint: $(READY)  ## style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)  ## strict types over src/ and papers/
	@$(BIN)/mypy

check: test lint types  ## what CI runs

papers: $(READY)  ## every table and figure of the papers, some hours; ARGS=--quick takes less than 15 minutes
	@$(BIN)/python -m papers --all --page build/reproduced.md $(ARGS)

# Where attacks write what they found. `make audit AUDIT=docs/audited` makes the page of the documentation anew.
AUDIT ?= build/audited

# Processor seconds of each attack.
SECONDS ?= 20

# The tests that have two sizes (tests/support/effort.py), wherever they are.
TWO_SIZES = $(shell grep -rl --include='test_*.py' 'from effort import' tests)

# The tests of what JAX compiles, which `make test` compiles without its optimisations (conftest.py).
OPTIMISED = $(wildcard tests/inference/test_*.py)

audit: $(AUDIT_READY)  ## every attack at full length, with a page of what was found
	@rm -rf $(AUDIT)
	@$(BIN)/python -m papers audit --all --seconds $(SECONDS) --out $(AUDIT)
	@DISCREET_AUDIT=$(abspath $(AUDIT)) $(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist worksteal $(sort $(TWO_SIZES) $(OPTIMISED))
	@$(BIN)/python -m papers audit --out $(AUDIT) --page $(AUDIT).md

bench: $(BENCH_READY)  ## every benchmark; each prints ratios measured in one run
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script; done

bench-check: $(READY)  ## ratios of the fast paths against benchmarks/ratios.json: a fall of more than a third fails
	@$(BIN)/python benchmarks/check_ratios.py

docs: $(DOCS_READY)  ## the documentation site in build/site, every example run
	@NO_MKDOCS_2_WARNING=1 $(ONE_THREAD) $(BIN)/mkdocs build --strict

trusted: $(READY)  ## docs/trusted.md: the files and functions that the guarantee rests on, traced again
	@$(BIN)/python tools/trusted.py

$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'discreet needs Python 3.11 or later; name one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)'; exit 1; }
	@echo 'setting up $(VENV) (once)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r $(LOCK)
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_READY): $(READY) requirements/bench.txt
	@$(PIP) install --require-hashes -r requirements/bench.txt
	@touch $@

$(AUDIT_READY): $(READY) requirements/audit.txt
	@$(PIP) install --require-hashes -r requirements/audit.txt
	@touch $@

$(SPARK_READY): $(READY) requirements/spark.txt
	@$(PIP) install --require-hashes -r requirements/spark.txt
	@touch $@

$(DOCS_READY): $(READY) requirements/docs.txt
	@$(PIP) install --require-hashes -r requirements/docs.txt
	@touch $@

lock: $(READY)  ## choose new versions of everything that the tests and benchmarks use
	@$(PIP) install uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --upgrade --group test pyproject.toml -o $(LOCK)
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --upgrade --group bench -c $(LOCK) -o requirements/bench.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --upgrade --group docs -c $(LOCK) -o requirements/docs.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --upgrade --group audit -c $(LOCK) -o requirements/audit.txt
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --upgrade --group spark -c $(LOCK) -o requirements/spark.txt

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
