# `make demo` and `make test` need Python 3.10 to 3.12, git and make; everything else is installed into .venv.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.10 python3; do \
	$$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$python && break; done)
BIN = .venv/bin

.PHONY: demo test test-all trial lint screenshot clean

demo: .venv/ready
	$(BIN)/spacy-sapbert demo --output demo.html

test: .venv/ready
	$(BIN)/python -m pytest -q -n 2

test-all: .venv/ready
	$(BIN)/python -m pytest -q -n 2 -m "slow or not slow"

trial: .venv/ready
	$(BIN)/python scripts/trial.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# needs Debian's packages chromium and chromium-driver
screenshot: .venv/ready
	$(BIN)/python scripts/screenshot.py docs/serve.png

clean:
	rm -rf .venv build dist *.egg-info

# torch goes first and alone: asked for by another package, pip would take its newest build
.venv/ready: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No Python 3.10, 3.11 or 3.12 found. Install one, or say make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@
