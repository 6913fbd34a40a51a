# Gnomon: `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
CLUSTER := .venv/.cluster
DEMO := out/demo

# How long `make chaos` goes on.
MINUTES ?= 30

.PHONY: setup demo test chaos lint types benchmark clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

# Films and scripted subjects, a short training from nothing, the laboratory in the browser, and then the paper with the
# published agents, on a page that shows the training's curve and links to the browser's page.
demo: setup
	$(BIN)/gnomon demo --out $(DEMO)
	rm -rf $(DEMO)/runs/live
	$(BIN)/gnomon train --runs $(DEMO)/runs --name live --minutes 1.5
	$(BIN)/gnomon play --no-open --out $(DEMO)/paper/play.html
	$(BIN)/gnomon reproduce --out $(DEMO)/paper --live $(DEMO)/runs/live

# The extras for clusters and Stable-Baselines3 are needed by their tests only; all is installed in one go.
$(CLUSTER): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,cluster,sb3]"
	touch $(STAMP) $(CLUSTER)

test: $(CLUSTER) lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Malformed command lines, damaged files, kills and lost nodes, with new seeds until the time is up: see docs/reliability.md.
chaos: $(CLUSTER)
	GNOMON_CHAOS_MINUTES=$(MINUTES) $(BIN)/python -m pytest tests/chaos

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/basedpyright --level error

benchmark: setup
	$(BIN)/python benchmarks/lab.py
	$(BIN)/python benchmarks/throughput.py

clean:
	rm -rf .venv .pytest_cache .ruff_cache runs out
