"""The commands that Paca advises can be typed where it runs."""

from pathlib import Path

import pytest

from paca.ops import advice
from tests.installation.manage_process import ROOT


@pytest.fixture
def folder(tmp_path: Path, settings, monkeypatch) -> Path:
    """A folder of code without a Makefile, in no container."""
    settings.BASE_DIR = tmp_path
    monkeypatch.setattr(advice, "CONTAINER_MARKS", (tmp_path / "mark",))
    return tmp_path


def test_advice_in_a_clone_is_make(folder: Path):
    (folder / "Makefile").touch()
    (folder / "mark").touch()  # a clone that is worked on in a container
    assert advice.start_command() == "make run"
    assert advice.start_command("PACA_PORT=8001") == "PACA_PORT=8001 make run"


def test_advice_in_the_image_is_compose(folder: Path):
    (folder / "mark").touch()
    assert advice.start_command() == "docker compose up --detach"
    assert advice.worker_command() == "docker compose up --detach worker"
    assert advice.manage_command("doctor") == "docker compose exec web python manage.py doctor"
    assert advice.start_command("PACA_PORT=1") == "set PACA_PORT=1 and start the container again"


def test_advice_elsewhere_names_a_python_that_has_the_packages(folder: Path, monkeypatch):
    monkeypatch.setattr(advice.sys, "prefix", "/opt/elsewhere")
    monkeypatch.setattr(advice.sys, "executable", "/opt/elsewhere/bin/python")
    assert advice.start_command() == "/opt/elsewhere/bin/python manage.py up"
    assert advice.worker_command() == "/opt/elsewhere/bin/python manage.py run_worker"


def test_image_has_the_python_with_the_packages_first_on_its_path():
    assert "ENV PATH=/opt/paca/bin:$PATH" in (ROOT / "Dockerfile").read_text("utf-8")
