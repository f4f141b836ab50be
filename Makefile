# make demo   the whole job on a made-up city, with a report in demo/
# make test   style, types and tests
# make bench  speed, as ratios measured in one run, and beside other programs (3 GB of them)
# make verify long statistical checks, and checks against other programs
# make reproduce-fast  the paper's evaluation in minutes, in results/reproduction-fast
# make reproduce  all of it in hours; GEOLIFE=Geolife/Data/000 adds real data
# make docs   the documentation site, in site/; a broken link or reference fails
# make docs-serve   the same on this machine, built again as pages change
# make test-lowest, make test-newest   the tests with the oldest versions that we allow, and with
#             the newest there are
# make dist   source archive and wheel, in dist/
# make release   all checks, dist and a tag; ARGS=--dry-run leaves no tag, ARGS=--upload uploads
# Each sets itself up in .venv, from python3 alone. Home Assistant, which the gateway's tests send to,
# is installed there too where it can be.

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := pip install --quiet --disable-pip-version-check
INSTALL := $(BIN)/$(PIP_INSTALL) -c constraints.txt

.PHONY: demo test test-lowest test-newest bench verify reproduce reproduce-fast figures tables
.PHONY: docs docs-serve dist release clean

demo: .venv/cli
	$(BIN)/priste demo

test: .venv/test .venv/home-assistant/tried
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2

test-lowest: .venv/lowest/test
	.venv/lowest/bin/pytest -n 2

test-newest: .venv/newest/test
	.venv/newest/bin/pytest -n 2

bench: .venv/test
	$(BIN)/python -m benchmarks

verify: .venv/test
	$(BIN)/python -m verification

reproduce: .venv/test
	$(BIN)/python -m reproduction $(addprefix --geolife ,$(GEOLIFE))

reproduce-fast: .venv/test
	$(BIN)/python -m reproduction --fast

figures: .venv/test
	PYTHONPATH=. $(BIN)/python docs/figures.py

tables: .venv/cli
	$(BIN)/python docs/tables.py

docs: .venv/docs
	$(BIN)/mkdocs build --strict

docs-serve: .venv/docs
	$(BIN)/mkdocs serve --strict

dist: .venv/release/tools
	rm -rf build dist
	.venv/release/bin/python -m build
	.venv/release/bin/twine check --strict dist/*

release:
	scripts/release $(ARGS)

.venv/cli .venv/docs .venv/test: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[$(@F)]'
	touch $@

# pip takes many minutes to settle its versions, uv seconds
.venv/home-assistant/tried: tests/serve/home-assistant.txt
	$(PYTHON) -m venv .venv/home-assistant
	.venv/home-assistant/bin/$(PIP_INSTALL) uv && .venv/home-assistant/bin/uv pip install --quiet \
		--python .venv/home-assistant -r $< || echo "Home Assistant cannot be installed; its test is skipped"
	touch $@

.venv/lowest/test: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv/lowest
	.venv/lowest/bin/$(PIP_INSTALL) -c constraints-lowest.txt -e '.[test]'
	touch $@

.venv/newest/test: pyproject.toml
	$(PYTHON) -m venv .venv/newest
	.venv/newest/bin/$(PIP_INSTALL) --upgrade -e '.[test]'
	touch $@

.venv/release/tools:
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/$(PIP_INSTALL) build twine
	touch $@

clean:
	rm -rf .venv build dist demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis
