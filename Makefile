# make demo   the whole idea in one table
# make test   style, types and tests
# make bench  speed, as ratios measured in one run
# Each sets itself up in .venv, from python3 alone.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test bench figures tables clean

demo: $(READY)
	$(BIN)/python -m priste.demo

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

bench: $(READY)
	$(BIN)/python -m benchmarks

figures: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python docs/figures.py

tables: $(READY)
	$(BIN)/python docs/tables.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $(READY)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
