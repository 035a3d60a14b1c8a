# Everything here sets itself up: Python 3.11 or newer, git and make are enough.
PYTHON ?= python3
VENV   := .venv
OLD    := .venv-oldest
PEER   := .venv-diffprivlib
DASK   := .venv-dask
SPARK  := .venv-spark
PEERS  := .venv-peers
SBOM   := .venv-sbom
BIN    := $(VENV)/bin
PIP    := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo check test test-deep test-oldest test-full test-dask test-spark lab bench bench-ledger bench-engines bench-accuracy timing mutants lint docs sbom clean

help:
	@echo "make demo    run the quickstart notebook on real data: questions, answers, the ledger"
	@echo "make check   lint, types and the core tests: under a minute"
	@echo "make test    all that decides whether the library is right: about twenty minutes"
	@echo "make test-deep  the oldest pandas, full sizes, Dask, Spark, and the mutants of what changed"
	@echo "make lab     open JupyterLab on the notebooks"
	@echo "make bench   measure speed beside pandas, OpenDP and diffprivlib; fails where a target is missed"
	@echo "make bench-ledger  measure a ledger's file, short and long"
	@echo "make bench-engines  measure files, Dask and Spark beside others; makes 3 GB of rows"
	@echo "make bench-accuracy  measure errors beside OpenDP and diffprivlib"
	@echo "make timing  measure what time tells"
	@echo "make mutants take each defence away, and see a test notice: 40 minutes"
	@echo "make lint    ruff and mypy --strict"
	@echo "make docs    build the docs site: build/docs/index.html"
	@echo "make sbom    list what dppandas needs at run time, in CycloneDX: build/sbom.cdx.json"

# Python compiles what the demo imports; all that it doesn't would be another 100 MB.
$(VENV)/demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) --no-compile --editable ".[demo]"
	@touch $@

$(VENV)/lab: pyproject.toml $(VENV)/demo
	$(BIN)/python $(PIP) --editable ".[lab]"
	@touch $@

$(VENV)/dev: pyproject.toml $(VENV)/demo
	$(BIN)/python $(PIP) --editable ".[dev]"
	@touch $@

$(VENV)/docs: pyproject.toml $(VENV)/demo
	$(BIN)/python $(PIP) --editable ".[docs]"
	@touch $@

# The oldest pandas and numpy that pyproject.toml allows and this Python has wheels of.
OLDEST := "pandas==2.2.2; python_version < '3.13'" "numpy==2.0.*; python_version < '3.13'" \
          "pandas==2.2.3; python_version >= '3.13'"

$(OLD)/test: pyproject.toml
	$(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python $(PIP) --upgrade pip
	$(OLD)/bin/python $(PIP) --editable ".[test]" $(OLDEST)
	@touch $@

# All partitionings of each operation: make test-dask DEEP=--deep
# Each engine has an environment of its own, so that none decides which versions another gets.
$(DASK)/test: pyproject.toml
	$(PYTHON) -m venv $(DASK)
	$(DASK)/bin/python $(PIP) --editable ".[dask,suite]" distributed
	@touch $@

$(SPARK)/test: pyproject.toml
	$(PYTHON) -m venv $(SPARK)
	$(SPARK)/bin/python $(PIP) --editable ".[spark,suite]"
	@touch $@

demo: $(VENV)/demo
	$(BIN)/python notebooks/run_demo.py

lab: $(VENV)/lab
	$(BIN)/jupyter lab notebooks/quickstart.ipynb

# A process a core; but a browser wants the machine to itself.
SHARED := -n auto --maxprocesses 8 --dist worksteal

# The rules of the house, the laws, and the mathematics between public arguments and noise.
CORE := lint house road golden_keys laws mutants
CORE := $(CORE:%=tests/test_%.py) tests/privacy/accounting tests/privacy/sampling tests/engines \
        tests/rows/expressions tests/release/test_*.py tests/frames

check: $(VENV)/dev
	$(BIN)/python -m pytest $(SHARED) -q $(CORE) -m "not sized and not statistical"

test: $(VENV)/dev
	$(BIN)/python -m pytest -m browser
	$(BIN)/python -m pytest $(SHARED) -m "not browser"

# tests/README.md says what each of the three is for.
test-deep: test-oldest test-full test-dask test-spark
	$(BIN)/python tests/mutants.py --changed

# What depends on pandas is tried on the oldest one too: what reads its objects, and what makes some. The rest sees
# closed forms of columns, or integers, and these are the same.
PANDAS := $(addprefix tests/,columns rows frames engines release/answers display/cards test_surface.py test_errors.py)
PANDAS += $(wildcard tests/test_habits*.py)
test-oldest: $(OLD)/test
	$(OLD)/bin/python -m pytest $(SHARED) -m "not browser and not statistical" $(PANDAS) \
	  "tests/test_notebooks.py::test_notebook_gives_what_it_shows[quickstart.ipynb]" \
	  --ignore=tests/engines/test_neighbours_in_files.py

test-full: $(VENV)/dev
	$(BIN)/python -m pytest $(SHARED) --deep -m "deep or sized"

test-dask: $(DASK)/test
	$(DASK)/bin/python -m pytest $(SHARED) $(DEEP) tests/engines/clusters/test_dask.py

test-spark: $(SPARK)/test
	@if command -v java >/dev/null || [ -n "$$CI" ]; \
	then $(SPARK)/bin/python -m pytest tests/engines/clusters/test_spark.py; \
	else echo "Spark is left out: it needs a Java runtime (apt-get install default-jre-headless)"; fi

timing: $(VENV)/dev
	$(BIN)/python benchmarks/timing.py

mutants: $(VENV)/dev
	$(BIN)/python tests/mutants.py --save

bench: $(VENV)/dev $(PEER)/ready
	$(BIN)/python benchmarks/bench.py --diffprivlib $(PEER)/bin/python

bench-ledger: $(VENV)/dev
	$(BIN)/python benchmarks/ledger.py

# OpenDP on Polars takes one version of Polars only.
$(PEERS)/ready: Makefile pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python $(PIP) --editable ".[arrow]" "opendp[polars]==0.16.0" "pipeline-dp==0.3.1"
	@touch $@

bench-engines: $(VENV)/dev $(DASK)/test $(SPARK)/test $(PEERS)/ready
	$(BIN)/python benchmarks/engines.py --large --json benchmarks/engines.json
	$(DASK)/bin/python benchmarks/clusters.py dask --json benchmarks/dask.json
	$(PEERS)/bin/python benchmarks/peers.py --json benchmarks/peers.json
	$(SPARK)/bin/python benchmarks/clusters.py spark --json benchmarks/spark.json

# diffprivlib can't be imported beside a new scikit-learn: it gets an environment of its own.
$(PEER)/ready: Makefile
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python $(PIP) "diffprivlib==0.6.6" "scikit-learn==1.5.2" "numpy<2.3" "pandas>=2.2.2,<4"
	@touch $@

bench-accuracy: $(VENV)/dev $(PEER)/ready
	$(BIN)/python benchmarks/accuracy.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/accuracy_models.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/accuracy_regression.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/tightness.py --json benchmarks/tightness.json
	$(BIN)/python benchmarks/accuracy_regression_others.py
	$(BIN)/python benchmarks/accuracy_regression_others.py --epsilon 0.1 --fits 100

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A link that leads nowhere, or any other warning, fails.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -q -W --keep-going -c docs . build/docs
	@echo "build/docs/index.html"

$(SBOM)/ready: Makefile
	$(PYTHON) -m venv $(SBOM)
	$(SBOM)/bin/python $(PIP) "cyclonedx-bom==7.*"
	@touch $@

# Of an environment that has what runs and nothing else, pip included. Of a wheel: make sbom OF=FILE
OF ?= .
sbom: $(SBOM)/ready
	$(PYTHON) -m venv --clear --without-pip build/plain
	$(SBOM)/bin/python -m pip --python build/plain/bin/python --quiet install $(OF)
	$(SBOM)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library \
	  --output-reproducible --short-PURLs -o build/sbom.cdx.json build/plain/bin/python
	@echo "build/sbom.cdx.json"

clean:
	rm -rf $(VENV) $(OLD) $(PEER) $(PEERS) $(SBOM) $(DASK) $(SPARK) artifacts dist build
