# make demo   the whole idea in one table
# make test   style, types and tests
# make bench  speed, as ratios measured in one run
# Each sets itself up in .venv, from python3 alone.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test bench figures tables clean

demo: .venv/core
	$(BIN)/python -m priste.demo

test: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: .venv/test
	$(BIN)/python -m benchmarks

figures: .venv/docs
	$(BIN)/python docs/figures.py

tables: .venv/core
	$(BIN)/python docs/tables.py

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e .
	touch $@

.venv/test .venv/docs: .venv/core
	$(INSTALL) -e '.[$(@F)]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
