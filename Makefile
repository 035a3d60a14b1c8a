# Everything here sets itself up: Python 3.11 or newer, git and make are enough.
PYTHON ?= python3
VENV   := .venv
WEB    := .venv-browser
OLD    := .venv-oldest
PEER   := .venv-diffprivlib
DASK   := .venv-dask
SPARK  := .venv-spark
OPENDP := .venv-opendp
GOOGLE := .venv-google-dp
NOISE  := .venv-smartnoise
SBOM   := .venv-sbom
BIN    := $(VENV)/bin
PIP    := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo check test test-browser test-deep test-full test-oldest test-dask test-spark test-mutants test-nightly environments lab bench bench-hand bench-growth bench-ledger bench-peers bench-engines bench-accuracy bench-inference timing mutants lint docs sbom screenshots clean

help:
	@echo "make demo    run the quickstart notebook on real data: questions, answers, the ledger"
	@echo "make check   lint, types and the core tests: about a minute"
	@echo "make test    all that decides whether the library is right: ten minutes on two fast cores"
	@echo "make test-browser  the live ledger and the docs site, in a browser: four minutes"
	@echo "make test-deep     full sizes, the oldest pandas, Dask, Spark, and the mutants of what changed"
	@echo "make test-nightly  what takes too long for each change"
	@echo "make lab     open JupyterLab on the notebooks"
	@echo "make bench   measure speed beside pandas, OpenDP and diffprivlib; fails where a target is missed"
	@echo "make bench-hand  measure what a hand feels, beside others and BEFORE=, a checkout of an older commit"
	@echo "make bench-growth  measure how answers grow with rows, keys, columns and entries: ten minutes"
	@echo "make bench-ledger  measure a ledger's file, short and long"
	@echo "make bench-peers  measure time and error beside OpenDP, diffprivlib, PyDP, PipelineDP, SmartNoise: ten minutes"
	@echo "make bench-engines  measure files and Dask beside others; makes 3 GB of rows"
	@echo "make bench-accuracy  measure errors beside OpenDP and diffprivlib"
	@echo "make bench-inference  measure how often tests of released answers are wrong: ten minutes"
	@echo "make timing  measure what time tells"
	@echo "make mutants take each defence away, and see a test notice: 40 minutes"
	@echo "make lint    ruff and mypy --strict"
	@echo "make docs    build the docs site: build/docs/index.html"
	@echo "make screenshots  take pictures of all that people see, in each host: PICTURES=folder"
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

$(VENV)/test: pyproject.toml $(VENV)/demo
	$(BIN)/python $(PIP) --editable ".[test]"
	@touch $@

$(VENV)/docs: pyproject.toml $(VENV)/demo
	$(BIN)/python $(PIP) --editable ".[docs]"
	@touch $@

# Apart from the other tests: with JupyterLab installed, nbformat takes four seconds to import.
$(WEB)/test: pyproject.toml
	$(PYTHON) -m venv $(WEB)
	$(WEB)/bin/python $(PIP) --editable ".[browser]"
	@touch $@

# The oldest pandas and numpy that pyproject.toml allows and this Python has wheels of.
OLDEST := "pandas==2.2.2; python_version < '3.13'" "numpy==2.0.*; python_version < '3.13'" \
          "pandas==2.2.3; python_version >= '3.13'"

$(OLD)/test: pyproject.toml
	$(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python $(PIP) --upgrade pip
	$(OLD)/bin/python $(PIP) --editable ".[suite,demo,audit,batches,polars,duckdb,dask]" nbval $(OLDEST)
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

# What .ci/run needs, which pip fetches side by side: make --jobs environments
environments: $(VENV)/test $(WEB)/test $(OLD)/test $(DASK)/test $(SPARK)/test

# A process a core. Only tests that run notebooks need nbval, and these start pytest anew.
SHARED := -n auto --maxprocesses 8 --dist worksteal -p no:nbval

# tests/README.md says what each is for, and when RECORD=--record is wanted.
check: $(VENV)/test
	$(BIN)/python -m pytest $(SHARED) -q tests/test_lint.py tests/test_house.py tests/test_mutants.py @tests/core.txt

# With SIZED=later what has a full size is left to make test-deep, which tries it at that.
test: $(VENV)/test
	$(BIN)/python -m pytest $(SHARED) --stage test $(RECORD) -m "not browser $(SIZED:later=and not sized)"

# A browser wants the machine to itself.
SEEN := tests/display/notebook tests/display/cards tests/test_formulas.py tests/test_site.py tests/test_site_in_browser.py
test-browser: $(WEB)/test
	$(WEB)/bin/python -m pytest -p no:nbval --stage browser $(RECORD) -m browser $(SEEN)

# For people to look at, before a face is changed and after. marimo is in the other environment.
screenshots: $(WEB)/test $(VENV)/test
	$(WEB)/bin/python tests/screenshots.py --marimo $(BIN)/python $(PICTURES)

test-deep: test-full test-oldest test-dask test-spark test-mutants

test-full: $(VENV)/test
	$(BIN)/python -m pytest $(SHARED) --stage full $(RECORD) --deep -m "(deep or sized) and not browser"

# What depends on pandas is tried on the oldest one too: what reads its objects, and what makes some. The rest sees
# closed forms of columns, or integers, and these are the same.
PANDAS := $(addprefix tests/,columns rows frames findings engines release/answers display/cards test_surface.py test_errors.py)
PANDAS += $(wildcard tests/test_habits*.py)
test-oldest: $(OLD)/test
	$(OLD)/bin/python -m pytest $(SHARED) --stage oldest $(RECORD) -m "not browser and not statistical" $(PANDAS) \
	  "tests/test_notebooks.py::test_notebook_gives_what_it_shows[quickstart.ipynb]" \
	  --ignore=tests/engines/test_neighbours_in_files.py

test-dask: $(DASK)/test
	$(DASK)/bin/python -m pytest $(SHARED) --stage dask $(RECORD) $(DEEP) tests/engines/clusters/test_dask.py

test-spark: $(SPARK)/test
	@if command -v java >/dev/null || [ -n "$$CI" ]; \
	then $(SPARK)/bin/python -m pytest --stage spark $(RECORD) tests/engines/clusters/test_spark.py; \
	else echo "Spark is left out: it needs a Java runtime (apt-get install default-jre-headless)"; fi

# Those whose function or test is another one now.
test-mutants: $(VENV)/test
	$(BIN)/python tests/mutants.py --changed

test-nightly: $(VENV)/test
	$(BIN)/python -m pytest $(SHARED) --stage nightly $(RECORD) --deep --nightly -m nightly

timing: $(VENV)/test
	$(BIN)/python benchmarks/timing.py

mutants: $(VENV)/test
	$(BIN)/python tests/mutants.py --save

bench: $(VENV)/test $(PEER)/ready
	$(BIN)/python benchmarks/bench.py --diffprivlib $(PEER)/bin/python

# Beside an older commit: make bench-hand BEFORE=CHECKOUT
bench-hand: $(VENV)/test $(PEER)/ready
	$(BIN)/python benchmarks/hand.py --diffprivlib $(PEER)/bin/python --json benchmarks/hand.json \
	  $(if $(BEFORE),--before $(BEFORE))

bench-growth: $(VENV)/test
	$(BIN)/python -W ignore benchmarks/growth.py --json benchmarks/growth.json

bench-ledger: $(VENV)/test
	$(BIN)/python benchmarks/ledger.py

# Peers can't be installed side by side: OpenDP on Polars takes one version of Polars only, SmartNoise an older pandas
# and OpenDP. What doesn't install is left out, and the benchmark says so.
$(OPENDP)/ready: PACKAGES := "opendp[polars]==0.16.0" "numpy>=2"
$(GOOGLE)/ready: PACKAGES := "python-dp==1.1.5" "pipeline-dp==0.3.1" "pandas>=2.2.2,<4"
$(NOISE)/ready: PACKAGES := "smartnoise-sql==1.0.10"
$(OPENDP)/ready $(GOOGLE)/ready $(NOISE)/ready: Makefile
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python $(PIP) $(PACKAGES)
	@touch $@

bench-peers: $(VENV)/test
	-$(MAKE) --keep-going $(PEER)/ready $(OPENDP)/ready $(GOOGLE)/ready $(NOISE)/ready
	$(BIN)/python benchmarks/peers.py --diffprivlib $(PEER)/bin/python --opendp $(OPENDP)/bin/python \
	  --google $(GOOGLE)/bin/python --smartnoise $(NOISE)/bin/python --json benchmarks/peers.json --readme

bench-engines: $(VENV)/test $(DASK)/test
	$(BIN)/python benchmarks/engines.py --large --json benchmarks/engines.json
	$(DASK)/bin/python benchmarks/clusters.py --json benchmarks/dask.json

# diffprivlib can't be imported beside a new scikit-learn: it gets an environment of its own.
$(PEER)/ready: Makefile
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python $(PIP) "diffprivlib==0.6.6" "scikit-learn==1.5.2" "numpy<2.3" "pandas>=2.2.2,<4"
	@touch $@

bench-accuracy: $(VENV)/test $(PEER)/ready
	$(BIN)/python benchmarks/accuracy.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/accuracy_models.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/accuracy_models_held_out.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/accuracy_regression.py --diffprivlib $(PEER)/bin/python
	$(BIN)/python benchmarks/tightness.py --json benchmarks/tightness.json
	$(BIN)/python benchmarks/accuracy_regression_others.py
	$(BIN)/python benchmarks/accuracy_regression_others.py --epsilon 0.1 --fits 100
	$(BIN)/python benchmarks/accuracy_models_rows.py

bench-inference: $(VENV)/test
	$(BIN)/python benchmarks/inference.py --json benchmarks/inference.json

lint: $(VENV)/test
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
	rm -rf $(VENV) $(WEB) $(OLD) $(PEER) $(OPENDP) $(GOOGLE) $(NOISE) $(SBOM) $(DASK) $(SPARK) artifacts dist build
