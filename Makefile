# Paca's commands. `make run` starts the product; `make test` runs its tests.
PY := .venv/bin/python
PYTEST := $(PY) -m pytest
# Many tests wait for a process or a clock rather than compute: four at a time fill two cores.
TESTERS ?= 4
LOCK := uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header

# Without bytecode each process compiles 700 modules at its start.
unexport PYTHONDONTWRITEBYTECODE

# Also under `make -j`: targets share .venv and the cores, so two suites at once would disturb each other.
.NOTPARALLEL:
.PHONY: help run test test-embedded test-services test-quick lint check test-browser test-docker test-localmodel sandbox-image bench chaos fuzz soak mutants docs lock clean dev-venv

help:
	@echo "make run           start Paca (makes .venv and installs what it needs, the first time)"
	@echo "make test-quick    the tests that start no process and no service: under a minute"
	@echo "make test          all tests that need nothing outside: on SQLite, then what the database decides"
	@echo "                   on PostgreSQL and Valkey (make test-embedded, make test-services)"
	@echo "make lint          format, lint, types, import rules, migrations"
	@echo "make check         make lint, then make test"
	@echo "make test-browser  the tests in a real Chromium (Debian: apt install chromium chromium-headless-shell)"
	@echo "make sandbox-image the image of Docker sandboxes (BASE=another Debian)"
	@echo "make test-docker   the tests that need Docker: sandboxes, compose.yml, a browser on all of it"
	@echo "make test-localmodel  a real, very small model on this machine (200 MB; not in CI)"
	@echo "make bench         figures against their baselines (one of them: ONLY=turn-postgresql)"
	@echo "make chaos         kill it at random and at every point (SEED=7, PART=R1, ON=sqlite, SHORT=1)"
	@echo "make fuzz          10,000 random requests to the API (REQUESTS=500, SEED=7, ON=sqlite, ONLY=operation)"
	@echo "make soak          ten minutes of ordinary work: speed, memory, descriptors, nothing left"
	@echo "make mutants       take each guard out in turn: a test must fail (ONLY=store, QUICK=1, SHARE=4, MINUTES=15)"
	@echo "make docs          write the generated pages of docs/ again"
	@echo "make lock          resolve requirements*.in to requirements*.txt with hashes (needs uv)"
	@echo "make clean         remove .venv and caches (your data in var/ stays)"

run:
	@scripts/venv.sh requirements.txt
	@exec $(PY) manage.py up

dev-venv:
	@scripts/venv.sh requirements-dev.txt

test: test-embedded test-services

test-embedded: dev-venv
	$(PYTEST) -n $(TESTERS) -m "not browser and not docker"

test-services: dev-venv
	$(PY) -m tests.on_services -n $(TESTERS)

# These compute rather than wait: one a core. tests/conftest.py says which are quick.
test-quick: dev-venv
	$(PYTEST) -n 2 -m quick

# mypy takes as long as all others together: it has a core of its own.
lint: dev-venv
	@$(PY) -m mypy paca & mypy=$$!; \
	{ $(PY) -m ruff format --check . && $(PY) -m ruff check . && .venv/bin/lint-imports && \
	DJANGO_SETTINGS_MODULE=tests.settings $(PY) manage.py makemigrations --check --dry-run; }; others=$$?; \
	wait $$mypy && exit $$others

check: lint test

# To collect all tests takes each process 15 seconds: these folders have the tests of the two tiers.
test-browser: dev-venv
	$(PYTEST) -n 2 --dist loadfile -m "browser and not docker" tests/browser

# The tests of Compose share one stack, which mostly waits: they have a process of their own.
test-docker: dev-venv
	@$(PYTEST) -m docker tests/compose & compose=$$!; \
	$(PYTEST) -n $(TESTERS) -m "docker and not browser" tests/flows tests/sandbox; others=$$?; \
	wait $$compose && exit $$others
	TEST_CHROMIUM=chromium $(PYTEST) -m "docker and browser" tests/browser

test-localmodel: dev-venv
	test -d .venv-localmodel || $(PY) -m venv .venv-localmodel
	.venv-localmodel/bin/pip install --quiet --no-deps --require-hashes -r tests/localmodel/requirements.txt
	$(PY) -m tests.localmodel .venv-localmodel/bin/python

sandbox-image:
	@scripts/sandbox_image.sh

bench: dev-venv
	$(PY) -m tests.bench

chaos: dev-venv
	@$(PY) -m tests.chaos

fuzz: dev-venv
	@$(PY) -m tests.fuzz

soak: dev-venv
	@PART=SOAK ON=services $(PY) -m tests.chaos

mutants: dev-venv
	@$(PY) -m tests.mutants

docs: dev-venv
	$(PY) scripts/make_docs.py

lock:
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) requirements-daphne.in -o requirements-daphne.txt
	$(LOCK) requirements-dev.in -o requirements-dev.txt

clean:
	rm -rf .venv .venv-localmodel .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
