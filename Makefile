# `make demo` shows what the program does, `make test` checks that it does it.
# Both build .venv first if it is missing or older than what it is built from.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2

.PHONY: help demo test format results clean chromium
.DEFAULT_GOAL := help

help:
	@echo "make demo     from nothing to a page that shows who is provably treated alike"
	@echo "make test     every check: style, types, direction of imports, documentation, tests"
	@echo "make format   rewrite the code in the house style"
	@echo "make results  build the pages of measured results, the glossary and the schemas"
	@echo "make clean    remove .venv and caches"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "This is Python %d.%d, but 3.11 or later is needed: run make with PYTHON=/path/to/python3.11." % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)
	$(BIN)/lassi demo

# A browser, in which the tests read the report. Installed where Debian's package manager may be used; the tests that
# need it are skipped where there is none.
chromium:
	@if ! command -v chromium > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq chromium > /dev/null \
			|| echo "Chromium could not be installed; tests in a browser are skipped."; \
	fi

test: $(READY) chromium
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n $(WORKERS)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

results: $(READY)
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
