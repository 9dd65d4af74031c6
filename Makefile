# Two commands matter: `make up` runs the product, `make test` tests it. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
JOBS ?= auto
# Tests ignore the environment variables of a running product: all that its settings read. They write
# their bytecode: otherwise every worker and every process under test compiles all of its modules again.
VARIABLES := $(shell sed -n 's/.*env[.][a-z]*."\([A-Z_]*\)".*/\1/p' kmapp/settings/*.py)
ALONE := env $(addprefix -u ,$(VARIABLES) DATABASE_SUPERUSER_URL PYTHONDONTWRITEBYTECODE)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help up test long check types style audit demo bench chaos soak tune bench-retrieval bench-tokens \
  bench-peers browser shots lock clean clean-data runtime development clients slow-checks short-chaos promises
.DEFAULT_GOAL := help

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: runtime ## run the product until Ctrl-C; data in .kmapp (KMAPP_DATA_DIR), port 8000 (PORT)
	@exec $(PY) manage.py up

test: development clients ## run all tests except those of `make chaos` and `make long`; DURATIONS=FILE
	@rm -f $(PROMISES)/*.json
	@$(ALONE) $(PY) -m tests.run -n $(JOBS) -m "not chaos and not long" $(RECORD)

long: development clients ## run the long form of some tests, and query plans with 100,000 memories
	@failed=0; \
	$(ALONE) $(PY) -m pytest -n $(JOBS) -m "long and not alone" || failed=1; \
	$(ALONE) $(PY) -m pytest -n 0 -m "long and alone" || failed=1; \
	$(ALONE) KMAPP_PLANS_AT=100000 $(PY) -m pytest -n 0 tests/memory/test_plans.py || failed=1; \
	exit $$failed

check: development ## check formatting, lint, types, imports, terms and migrations
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types style

types: development
	@$(ALONE) $(PY) -m mypy .

style: development
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m tests.vocabulary
	@find templates -name '*.html' -exec $(VENV)/bin/djade --check --target-version 5.2 {} +
	@$(PY) -m djlint --lint --quiet templates
	@$(VENV)/bin/lint-imports
	@$(ALONE) DJANGO_SETTINGS_MODULE=tests.settings $(PY) manage.py check --fail-level WARNING
	@# No database runs here; the comparison is between models and files.
	@$(ALONE) DJANGO_SETTINGS_MODULE=tests.settings $(PY) -W ignore::RuntimeWarning manage.py \
	  makemigrations --check --dry-run

audit: development ## look up known vulnerabilities of the locked packages
	@$(PY) -m tests.audit

demo: runtime ## load bilingual demo data into a running kmapp
	@$(PY) manage.py demo

# All are measured, also after one has missed its target.
BENCHMARKS := "perf bench" "perf verify" "knowledge_perf verify" "perf checkpoints"

bench: runtime ## measure search, writes, verification, signing and protocols; OUT=FILE writes the tables
	@failed=0; \
	for words in $(BENCHMARKS); do \
	  $(PY) manage.py $$words $(if $(OUT),--out $(OUT)) || failed=1; \
	done; \
	$(PY) manage.py interop_perf || failed=1; \
	exit $$failed

tune: runtime ## tune the search weights; DATA="FILES" of labelled questions, VECTORS=FILE caches vectors
	@$(PY) manage.py retrieval tune $(DATA) $(if $(VECTORS),--vectors $(VECTORS))

bench-retrieval: runtime ## measure retrieval quality, with an ablation of each signal; DATA="FILES", OUT=FILE
	@$(PY) manage.py retrieval table $(DATA) $(if $(VECTORS),--vectors $(VECTORS)) $(if $(OUT),--out $(OUT))

bench-tokens: runtime ## measure the evidence in prompt blocks of 300 to 2,400 tokens; DATA="FILES", NUMBER=250
	@$(PY) manage.py retrieval tokens $(DATA) $(if $(VECTORS),--vectors $(VECTORS)) $(if $(NUMBER),--number $(NUMBER))
	@$(PY) manage.py context_evidence memories $(DATA) $(if $(VECTORS),--vectors $(VECTORS)) $(if $(NUMBER),--number $(NUMBER))

bench-peers: development ## measure other memory stores beside kmapp; DATA="FILES", NUMBER=10000, OUT=FILE, ONLY="mem0 chroma"
	@$(ALONE) $(PY) -m tests.peers $(DATA) $(if $(NUMBER),--number $(NUMBER)) $(if $(ONLY),--only $(ONLY)) $(if $(CACHE),--cache $(CACHE)) $(if $(OUT),--out $(OUT))

# The results of one complete run are collected here; `make test` and `make chaos` first delete older ones.
PROMISES := .promises
# A table of the seconds of each test is appended to the file in DURATIONS.
RECORD = --promises=$(PROMISES) $(if $(DURATIONS),--durations-file=$(DURATIONS))
RUN_CHAOS := $(ALONE) CHAOS_SHORT=$(if $(SHORT),1) $(PY) -m $(if $(SHORT),tests.run,pytest) --durations=12 $(RECORD)
SHORT_FORM := --maxschedchunk=1 -m chaos tests/chaos

# Three at once on two cores: most tests wait for a killed process. Tests that measure time run alone,
# except in the short form: its limits hold on a busy machine, see tests/chaos/measure.py.
chaos: development ## test all promises with injected faults; SHORT=1 takes minutes, after `make test`; PROMISES=FOLDER
	@failed=0; \
	if [ -n "$(SHORT)" ]; then \
	  $(RUN_CHAOS) -n 3 $(SHORT_FORM) || failed=1; \
	else \
	  rm -f $(PROMISES)/*.json; \
	  $(RUN_CHAOS) -n 3 -m "promise and not alone" || failed=1; \
	  $(RUN_CHAOS) -n 0 -m "(chaos or promise) and alone" || failed=1; \
	fi; \
	$(PY) -m tests.promises $(PROMISES) || failed=1; \
	exit $$failed

# For .ci/run: what runs beside `make test`. Its output is written to a file, so that it is not mixed with that of the tests.
slow-checks: development
	@mkdir -p $(PROMISES)
	@exec $(MAKE) --no-print-directory --keep-going --output-sync=target types audit short-chaos SHORT=1 >$(PROMISES)/slow-checks.txt 2>&1

short-chaos: development
	@$(RUN_CHAOS) -n 2 $(SHORT_FORM)

promises:
	@$(PY) -m tests.promises $(PROMISES)

soak: development ## run half an hour of load while processes are killed; a day: MINUTES=144 RATE=10; OUT=FILE
	@$(ALONE) $(PY) -m tests.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(RATE),--rate $(RATE)) $(if $(OUT),--out $(OUT))

browser: development ## run only browser tests, each page in both themes and languages
	@$(ALONE) WHOLE_MATRIX=1 $(PY) -m pytest -n $(JOBS) -m browser

shots: development ## take the screenshots of the docs from a running kmapp with demo data
	@$(PY) -m tests.shots

lock: development ## update the lock files after a change of a requirements*.in file
	@for name in requirements requirements-otel requirements-dev requirements-clients; do \
	  UV_CUSTOM_COMPILE_COMMAND="make lock" $(PY) -m uv pip compile --quiet --universal \
	    --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    $$([ $$name = requirements-otel ] && echo '-c requirements.txt') $$name.in -o $$name.txt || exit 1; \
	done

clean: ## remove the virtual environment and caches; keep the data
	rm -rf $(VENV) $(VENV)-clients .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

clean-data: ## remove .kmapp with all its data; stop kmapp first
	@# The kernel releases the lock of a process that was killed.
	@if [ -e .kmapp/up.lock ] && ! $(PYTHON) -c 'import fcntl; \
	  fcntl.flock(open(".kmapp/up.lock", "a"), fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null; then \
	  echo "kmapp runs on .kmapp: stop it first."; exit 1; fi
	@# As root in a closed folder, Postgres keeps its data elsewhere and leaves a link.
	@if [ -L .kmapp/postgres ]; then rm -rf "$$(dirname "$$(readlink .kmapp/postgres)")"; fi
	rm -rf .kmapp

# A copy of the lock file in the environment marks a complete installation.
runtime:
	@$(call install,requirements.txt)

development: runtime
	@$(call install,requirements-dev.txt)

# Clients of other products that the tests run, apart from the product's own packages.
clients:
	@$(call install,requirements-clients.txt,$(VENV)-clients)
	@$(VENV)-clients/bin/python tests/interop/prepare_clients.py

# $(1): a lock file; $(2): the environment, by default the product's.
define install
env=$(or $(2),$(VENV)); \
if ! cmp -s $(1) $$env/$(1) || ! $$env/bin/python -c ''; then \
  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
    { echo "kmapp needs Python 3.11 or later; choose one with: make PYTHON=/path/to/python3"; exit 1; }; \
  $$env/bin/python -m pip --version >/dev/null 2>&1 || \
    { rm -rf $$env && $(PYTHON) -m venv $$env; } || \
    { echo "No virtual environment. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }; \
  echo "Installing $(1) into $$env (once)"; \
  $$env/bin/python -m pip install --quiet --require-hashes -r $(1) && cp $(1) $$env/$(1); \
fi
endef
