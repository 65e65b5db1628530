# make run: start the application · make test: run every test this machine can run
.PHONY: run test setup setup-dev check bench eval-seed clean

PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$python && break; done)
PORT ?= 8501
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
# Errors only: pip before 23.3 does not find lxml's extra html_clean and warns, although requirements.txt lists its package.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -qq -c constraints.txt

run: setup
	@$(BIN)/python launcher.py --port $(PORT)

test: setup-dev
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

setup: $(VENV)/ready

setup-dev: $(VENV)/ready-dev

check: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/test_structure.py

bench: setup-dev
	@$(BIN)/python -m benchmarks

# Ask the five questions of the LangGraph notebook; DOCUMENTS is a folder with copies of its posts, OPTIONS are passed to `evaluate`.
eval-seed: setup
	@$(BIN)/python -m benchmarks.seed $(if $(DOCUMENTS),--documents "$(DOCUMENTS)") $(OPTIONS)

clean:
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; install one, then try again."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python has no venv module here; on Debian: apt install python3-venv"; exit 1; }

$(VENV)/ready: $(BIN)/python requirements.txt constraints.txt
	@echo "Installing what the application needs; once, about a minute."
	@$(INSTALL) -r requirements.txt
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready requirements-dev.txt
	@echo "Installing what the tests need."
	@$(INSTALL) -r requirements-dev.txt
	@touch $@
