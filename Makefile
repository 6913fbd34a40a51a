# Gnomon: `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup demo test lint types benchmark clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(STAMP)

demo: setup
	$(BIN)/gnomon demo

test: setup lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal

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
