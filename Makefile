# Every command a contributor needs. `make` alone lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BENCH  ?= .venv-bench
DOCS   ?= .venv-docs
# What the demo needs is in the development environment, too, if there is one.
DEMO   ?= $(if $(wildcard $(READY)),$(VENV),.venv-demo)

# A constraints file for the dependencies, such as constraints/oldest.txt.
CONSTRAINTS ?=
LIMITS := $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

# uv is quicker where it is installed; a plain Python is enough.
UV := $(shell command -v uv 2>/dev/null)

# The folders with quick tests; the others need not be collected for `make test`.
QUICK_TESTS := tests/unit tests/integration tests/server tests/cli tests/isolated tests/conformance/test_embedded.py

# The recipe of an environment: its folder, and the extras that it has.
COMMA := ,
define environment
$(if $(UV),uv venv --quiet --allow-existing --python $(PYTHON) $(1),$(PYTHON) -m venv $(1))
$(if $(UV),VIRTUAL_ENV=$(1) uv pip install --quiet -e '.[$(2)]' -e server $(LIMITS),$(1)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[$(2)]' -e server $(LIMITS))
@touch $@
endef

.DEFAULT_GOAL := help
.PHONY: help install demo test test-rest test-all test-alone test-real test-ui coverage soak lint audit check format api codegen constraints dist test-dist release-check conformance conformance-record bench peers docs docs-serve clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## Create .venv with everything that development needs; CONSTRAINTS=file limits the versions

$(READY): pyproject.toml server/pyproject.toml
	$(call environment,$(VENV),dev)

demo: $(DEMO)/.ready ## See informers and a controller keep up with a cluster that misbehaves; takes half a minute
	$(DEMO)/bin/python -m masthead demo

.venv-demo/.ready: pyproject.toml server/pyproject.toml
	$(call environment,.venv-demo,cli)

test: $(READY) ## Run the quick tests of every package: a few minutes
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --tier quick $(QUICK_TESTS)

test-rest: $(READY) ## Run all other tests: random scenarios, conformance, hostile input, a real server, examples, documents
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --tier rest

test-all: test test-rest ## Run all tests

test-ui: $(READY) ## Test the page of `masthead ui` in a browser: Chromium, and playwright, which is installed for it
	$(if $(UV),VIRTUAL_ENV=$(VENV) uv pip install --quiet,$(BIN)/python -m pip install --quiet --disable-pip-version-check) playwright axe-playwright-python
	MASTHEAD_UI_TESTS=1 $(BIN)/python -m pytest -q tests/ui

test-alone: $(READY) ## Run every test file alone in a fresh process, in random order
	$(BIN)/python -m tests.alone

test-real: $(READY) ## Run the tests against a real kube-apiserver, found by KUBEBUILDER_ASSETS
	MASTHEAD_ALL_CASES=1 $(BIN)/python -m pytest -q -m real

coverage: $(READY) ## Measure branch coverage of hand-written code by the unit and integration tests, and check its floor
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 --dist loadgroup --timeout 600 tests/unit tests/integration
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

soak: $(READY) ## Start fresh processes, play new scenarios and hostile requests for MASTHEAD_SOAK_SECONDS (600)
	$(BIN)/python -m tests.scenarios.soak

lint: audit ## Check format, style, prose, types (also of the documents), import contracts, public API and dependencies
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/python -m tools.document_types
	$(BIN)/python -m tools.verify_types
	$(BIN)/python -m tools.signature_types
	$(BIN)/python -m tools.public_api
	$(BIN)/python -m tools.traced_calls
	$(BIN)/python -m tools.prose

audit: $(READY) ## Look for known vulnerabilities in what is installed with the package, where that can be asked
	$(BIN)/python -m tests.repo.audit

check: test-all lint ## All tests, and lint

format: $(READY) ## Format the code and fix what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

api: $(READY) ## Write the public API to docs/api.txt, after a change of it that is intended
	$(BIN)/python -m tools.public_api --write

codegen: $(READY) ## Regenerate what is generated: from the embedded server, CLUSTER=1, or SPEC=folder; see CONTRIBUTING.md
	$(BIN)/python -m tools.codegen $(if $(SPEC),--openapi $(SPEC)) $(if $(CLUSTER),--cluster) \
		$(if $(LEGACY),--legacy $(LEGACY)) $(if $(PROTOBUF),--protobuf $(PROTOBUF))

constraints: $(READY) ## Write constraints/oldest.txt from the lower bounds in pyproject.toml
	$(BIN)/python -m tools.constraints --write

dist: $(READY) ## Build the wheels and sdists of library and server in dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist server

test-dist: $(READY) ## Install the archives of dist/ in fresh environments, and use them
	$(BIN)/python -m tools.release.installs dist

release-check: dist ## Build, and check all that a release must be; writes an SBOM to dist/; PYTHONS=3.11,3.12 must be at hand, TAG must fit
	$(BIN)/python -m tools.release dist --pythons "$(PYTHONS)"

conformance: $(READY) ## Compare the embedded server with the real one's recorded responses; writes docs/conformance.md and build/conformance.md
	$(BIN)/python -m tests.conformance.report

conformance-record: $(READY) ## Record the real server's responses again
	$(BIN)/python -m tests.conformance.record

bench: $(BENCH)/.ready ## Run all benchmarks beside the peers, and draw docs/benchmarks.md; QUICK=1 in two minutes, ONLY=sync,watch
	$(BENCH)/bin/python -m benchmarks $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

$(BENCH)/.ready: pyproject.toml server/pyproject.toml
	$(call environment,$(BENCH),cli$(COMMA)compact$(COMMA)metrics$(COMMA)peers$(COMMA)speed$(COMMA)tls)

peers: $(READY) ## Run other projects' tests against the server, and write docs/peers.md; PEERS=folder with clones, ONLY=kopf,lightkube
	$(BIN)/python -m tools.peers $(if $(PEERS),--clones $(PEERS)) $(subst $(COMMA), ,$(ONLY))

docs: $(DOCS)/.ready build/docs ## Build the documentation site in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

docs-serve: $(DOCS)/.ready build/docs ## Serve the documentation site, and build it again when a document changes
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs serve

# MkDocs wants the folder before its hook fills it.
build/docs:
	mkdir -p $@

$(DOCS)/.ready: pyproject.toml server/pyproject.toml
	$(call environment,$(DOCS),docs$(COMMA)metrics)

clean: ## Remove what the commands above made
	rm -rf $(VENV) $(BENCH) $(DOCS) .venv-demo .venv-peers site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.* build dist
