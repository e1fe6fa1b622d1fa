# `make demo` shows what the program does, `make test` checks that it does it.
# Both build .venv first if it is missing or older than what it is built from.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= 2
LOWEST := .venv-lowest

.PHONY: help demo test test-crash test-fuzz test-lowest format results clean chromium
.DEFAULT_GOAL := help

help:
	@echo "make demo         from nothing to a page that shows who is provably treated alike"
	@echo "make test         every check: style, types, direction of imports, documentation, tests"
	@echo "make test-crash   interrupt runs at every change of a file, fill disks, flip bytes"
	@echo "make test-fuzz    read some 50,000 damaged and hostile files"
	@echo "make test-lowest  the tests, with the lowest versions of the packages that pyproject.toml allows"
	@echo "make format       rewrite the code in the house style"
	@echo "make results      build the pages of measured results, the glossary and the schemas"
	@echo "make clean        remove both environments and the caches"

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

# `make test` tries a sample of these two.
test-crash: $(READY)
	LASSI_CRASH=whole $(BIN)/pytest -n $(WORKERS) tests/crash

test-fuzz: $(READY)
	LASSI_FUZZ=whole $(BIN)/pytest -n $(WORKERS) tests/fuzz

# An environment of its own, for the lowest versions that pyproject.toml allows.
$(LOWEST)/.ready: pyproject.toml constraints.txt tests/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		-r $(LOWEST)/requirements.txt -c $(LOWEST)/constraints.txt -e .
	@touch $@

# The published schemas are built with the tested pydantic; an older one leaves their descriptions out.
test-lowest: $(LOWEST)/.ready chromium
	$(LOWEST)/bin/pytest -n $(WORKERS) \
		--deselect 'tests/test_documents.py::test_what_is_built_is_up_to_date[results.schema.json]' \
		--deselect 'tests/test_documents.py::test_what_is_built_is_up_to_date[certificate.schema.json]'

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

results: $(READY)
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
