# Paca's commands. `make run` starts the product; `make test` runs its tests.
PY := .venv/bin/python
PYTEST := $(PY) -m pytest
LOCK := uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-header

.PHONY: help run test check test-browser bench docs lock clean dev-venv

help:
	@echo "make run           start Paca (makes .venv and installs what it needs, the first time)"
	@echo "make test          all tests that need nothing outside"
	@echo "make check         format, lint, types, import rules, migrations, then make test"
	@echo "make test-browser  the tests in a real Chromium (Debian: apt install chromium)"
	@echo "make bench         figures against their baselines (one of them: ONLY=turn)"
	@echo "make docs          write the generated pages of docs/ again"
	@echo "make lock          resolve requirements*.in to requirements*.txt with hashes (needs uv)"
	@echo "make clean         remove .venv and caches (your data in var/ stays)"

run:
	@scripts/venv.sh requirements.txt
	@exec $(PY) manage.py up

dev-venv:
	@scripts/venv.sh requirements-dev.txt

test: dev-venv
	$(PYTEST) -m "not browser and not docker"

check: dev-venv
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy paca
	.venv/bin/lint-imports
	DJANGO_SETTINGS_MODULE=tests.settings $(PY) manage.py makemigrations --check --dry-run
	$(MAKE) --no-print-directory test

test-browser: dev-venv
	$(PYTEST) -m browser

bench: dev-venv
	$(PY) -m tests.bench

docs: dev-venv
	$(PY) scripts/make_docs.py

lock:
	$(LOCK) requirements.in -o requirements.txt
	$(LOCK) requirements-dev.in -o requirements-dev.txt

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
