# `make demo` and `make test` need Python 3.10 to 3.13, git and make; everything else is installed into .venv.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.10 python3; do \
	$$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$python && break; done)
# what is installed where: see test-lowest and test-newest
VENV = .venv
CONSTRAINTS = constraints.txt
BIN = $(VENV)/bin

# What is tested are the sources, or, with WHEEL=FILE, that wheel: installed in a place of its own, by tests that run in a
# copy of the repository without the package, so that nothing else can be imported.
# TESTS=FILES chooses some of them.
PYTEST = $(if $(WHEEL),cd build/tests && env -u PYTHONPATH $(BESIDE) ../venv/bin/python,$(BIN)/python) -m pytest -q -n 2 $(TESTS)
BESIDE = SPACY_SAPBERT_DIST="$(abspath $(dir $(WHEEL)))" \
	SPACY_SAPBERT_DATA="$${SPACY_SAPBERT_DATA:-$(CURDIR)/../shared/data}"

# What torch, oneDNN, MKL and OpenBLAS are to take for the CPU: one without AVX; this one with all it has, as bfloat16,
# which tests/conftest.py turns off elsewhere; and one that may round float32 to bfloat16.
OLD_CPU = ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Nehalem
NEW_CPU = ONEDNN_MAX_CPU_ISA=DEFAULT OPENBLAS_CORETYPE=Haswell
ROUGH = DNNL_DEFAULT_FPMATH_MODE=BF16 ONEDNN_DEFAULT_FPMATH_MODE=BF16

.PHONY: demo test test-all test-lowest test-newest test-encoders test-dist dist wheel-installed light trial figures fuzz golden count lint \
	docs release-check screenshot clean

demo: $(VENV)/ready
	$(BIN)/spacy-sapbert demo --output demo.html

test: $(VENV)/ready $(if $(WHEEL),wheel-installed)
	$(PYTEST)

test-all: export HYPOTHESIS_EXAMPLES = new
test-all: $(VENV)/ready $(if $(WHEEL),wheel-installed)
	$(PYTEST) -m "slow or not slow"
	export $(OLD_CPU) && $(PYTEST)
	export $(NEW_CPU) && $(PYTEST)
	export $(NEW_CPU) $(ROUGH) && $(PYTEST)

# With the lowest versions that pyproject.toml allows, and with the newest. constraints.txt is between them. The lowest
# ones have no files for a later Python.
test-lowest: PYTHON = python3.10
test-lowest:
	$(MAKE) test VENV=.venv-lowest CONSTRAINTS=constraints-lowest.txt PYTHON="$(PYTHON)"

test-newest:
	$(MAKE) test VENV=.venv-newest CONSTRAINTS= PYTHON="$(PYTHON)"

# The wheel is built from the sdist. With the time of the commit, the same files always give the same bytes.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: $(VENV)/ready
	rm -rf build dist *.egg-info
	$(BIN)/python -m build --quiet

# The encoders, with the lowest and the newest torch and transformers: what `dev` needs holds transformers before 4.53.3.
test-encoders:
	for end in lowest newest; do \
		$(PYTHON) -m venv .venv-encoders-$$end && \
		.venv-encoders-$$end/bin/python -m pip install --quiet $$([ $$end = newest ] || echo -c constraints-lowest.txt) \
			-e ".[encoders]" scikit-learn sentence-transformers pytest pytest-xdist hypothesis && \
		.venv-encoders-$$end/bin/python -m pytest -q -n 2 tests/encoders || exit 1; done

test-dist: dist
	$(MAKE) test WHEEL="$$(echo dist/*.whl)" TESTS="$(TESTS)"

# The .pth file makes the requirements in .venv importable, but not the sources: Python does not look for further .pth
# files there, such as that of an editable package.
wheel-installed: $(VENV)/ready
	rm -rf build/venv build/tests
	$(BIN)/python -m venv --without-pip build/venv
	$(BIN)/python -m pip --python build/venv/bin/python install --quiet --no-deps "$(WHEEL)"
	$(BIN)/python -c "$(SITE_PACKAGES)" > "$$(build/venv/bin/python -c "$(SITE_PACKAGES)")/requirements.pth"
	mkdir build/tests
	git ls-files -z --cached --others --exclude-standard . ':!spacy_sapbert' | tar --null -T - -c | tar -x -C build/tests

SITE_PACKAGES = import sysconfig; print(sysconfig.get_path('purelib'))

# What users install, the wheel without an extra, in an environment of its own: it links an abstract.
light: dist
	rm -rf build/light
	$(PYTHON) -m venv build/light
	build/light/bin/python -m pip install --quiet dist/*.whl
	build/light/bin/spacy-sapbert demo --output build/light/demo.html
	du -sm build/light

# Feeds changed files and requests to all that reads what others made
SECONDS ?= 60
fuzz: $(VENV)/ready
	FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q tests/fuzz

# Compares the outputs of commands on public data with those that tests/golden.json records. ENTRIES=quick or
# ENTRIES="link kb/m*" chooses some, RECORD=1 records them, MANIFEST=FILE takes another file, KEEP=FOLDER keeps them.
golden: $(VENV)/ready
	$(BIN)/python scripts/golden.py $(if $(ENTRIES),--entries "$(ENTRIES)") $(if $(RECORD),--record) \
		$(if $(MANIFEST),--manifest "$(MANIFEST)") $(if $(KEEP),--keep "$(KEEP)")

# lines, files, commands, options and messages; JSON=1 for JSON
count: $(VENV)/ready
	$(BIN)/python scripts/count.py $(if $(JSON),--json)

# the tools are in an environment of their own, since nothing else needs them
release-check: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release-check: dist .venv-release/ready
	.venv-release/bin/python scripts/release_check.py $(VENV)

trial: $(VENV)/ready
	$(BIN)/python scripts/trial.py

# Measures the figures of the README on the corpora in the folder that SPACY_SAPBERT_DATA names
figures: $(VENV)/ready
	$(BIN)/python benchmarks/figures.py build/figures -o docs/results/figures.json

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# needs Debian's packages chromium and chromium-driver
screenshot: $(VENV)/ready
	$(BIN)/python scripts/screenshot.py docs/screens

clean:
	rm -rf .venv .venv-* build dist site *.egg-info

# torch goes first and alone: asked for by another package, pip would take its newest build
$(VENV)/ready: pyproject.toml $(CONSTRAINTS)
	@test -n "$(PYTHON)" || { echo "No Python 3.10, 3.11, 3.12 or 3.13 found. Install one, or say make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS:%=-c %) torch
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS:%=-c %) -e ".[dev]"
	touch $@

.venv-release/ready: pyproject.toml
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-release/bin/python -m pip install --quiet --group release
	touch $@
