"""The commands that Paca advises, as they are typed where it runs: in a clone, a container or elsewhere."""

import shutil
import sys
from pathlib import Path

from django.conf import settings

CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
COMPOSE_UP = "docker compose up --detach"


def is_image() -> bool:
    """Whether this is the code of the image in a container. A clone has a Makefile, also in a container."""
    return not (settings.BASE_DIR / "Makefile").exists() and any(
        mark.exists() for mark in CONTAINER_MARKS
    )


def start_command(setting: str = "") -> str:
    """The command that starts Paca; ``setting`` is ``NAME=value`` and part of it."""
    if is_image():
        return f"set {setting} and start the container again" if setting else COMPOSE_UP
    if (settings.BASE_DIR / "Makefile").exists():
        return f"{setting} make run".strip()
    return f"{setting} {_python()} manage.py up".strip()


def worker_command() -> str:
    """The command that starts a worker beside web servers."""
    return f"{COMPOSE_UP} worker" if is_image() else manage_command("run_worker")


def manage_command(command: str) -> str:
    """The command line that runs a ``manage.py`` command with this installation's Python."""
    if is_image():
        return f"docker compose exec web python manage.py {command}"
    return f"{_python()} manage.py {command}"


def _python() -> str:
    """This Python as a person at a terminal in the clone calls it."""
    if Path(sys.prefix) == settings.BASE_DIR / ".venv":
        return ".venv/bin/python"
    found = shutil.which("python3")
    is_found = found is not None and Path(found).parent == Path(sys.executable).parent
    return "python3" if is_found else sys.executable
