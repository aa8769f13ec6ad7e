"""Checks what repositories need on this machine: git, the broker, and space for the mirrors."""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path

from django.conf import settings

from paca.engine.workspace import SandboxUnavailable
from paca.ops import sandbox_factory
from paca.ops.check_result import CheckResult, passed
from paca.repositories import routing
from paca.repositories.broker import mirrors
from paca.repositories.broker.host_git import OLDEST_GIT
from paca.sandbox.egress.gates import Gates

PART = "Repositories"
INSTALL = "install git {}.{} or newer".format(*OLDEST_GIT)
GIT_SECONDS = 10.0


def check_repositories() -> CheckResult:
    """Ask git for its version, start the broker, and measure the mirrors."""
    version = git_version()
    if version is None:
        return CheckResult(
            PART, "todo", "git is not there: agents cannot use repositories", INSTALL
        )
    shown = ".".join(map(str, version))
    if version[:2] < OLDEST_GIT:
        return CheckResult(PART, "todo", f"git {shown} is too old for mirrors and pushes", INSTALL)
    gates = Gates(settings.PACA_DATA_DIR.resolve(), sandbox_factory.install_id())
    client = routing.broker_client(gates.root)
    try:
        asyncio.run(client.ensure_process())
    except (SandboxUnavailable, OSError) as error:
        reason = getattr(error, "detail", str(error))
        return CheckResult(PART, "broken", reason, f"look into {client.root / 'log'}")
    return passed(PART, f"git {shown}, the broker answers, {_mirrors(gates.root)}")


def git_version() -> tuple[int, ...] | None:
    """The version of git on this machine; None if there is none that runs."""
    try:
        done = subprocess.run(
            ["git", "--version"],  # noqa: S607 - found as the broker finds it
            capture_output=True,
            check=True,
            text=True,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+(?:\.\d+)+", done.stdout)
    return tuple(map(int, found[0].split("."))) if found else None


def _mirrors(gates: Path) -> str:
    if not settings.GIT_MIRRORS_MIB:
        return "no mirrors are kept: GIT_MIRRORS_MIB is 0"
    taken = mirrors.size_of_all(routing.mirrors_folder(gates)) >> 20
    return f"mirrors take {taken} of {settings.GIT_MIRRORS_MIB} MiB"
