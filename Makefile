# make demo   the whole job on a made-up city, with a report in demo/
# make test   style, types and tests
# make bench  speed, as ratios measured in one run, and beside other programs (3 GB of them)
# make verify long statistical checks, and checks against other programs
# make reproduce-fast  the paper's evaluation in minutes, in results/reproduction-fast
# make reproduce  all of it in hours; GEOLIFE=Geolife/Data/000 adds real data
# Each sets itself up in .venv, from python3 alone.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test bench verify reproduce reproduce-fast figures tables clean

demo: .venv/cli
	$(BIN)/priste demo

test: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: .venv/test
	$(BIN)/python -m benchmarks

verify: .venv/test
	$(BIN)/python -m verification

reproduce: .venv/test
	$(BIN)/python -m reproduction $(addprefix --geolife ,$(GEOLIFE))

reproduce-fast: .venv/test
	$(BIN)/python -m reproduction --fast

figures: .venv/cli
	$(BIN)/python docs/figures.py

tables: .venv/cli
	$(BIN)/python docs/tables.py

.venv/cli .venv/test: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[$(@F)]'
	touch $@

clean:
	rm -rf .venv demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
