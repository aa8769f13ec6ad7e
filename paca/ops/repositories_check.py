"""Checks what repositories need on this machine: git, the broker, and space for the mirrors."""

from __future__ import annotations

import asyncio
from pathlib import Path

from django.conf import settings

from paca.engine.workspace import SandboxUnavailable
from paca.ops import sandbox_factory
from paca.ops.check_result import CheckResult, passed
from paca.repositories import routing
from paca.repositories.broker import host_git, mirror_files
from paca.repositories.broker.host_git import OLDEST_GIT
from paca.sandbox.egress.gates import Gates

PART = "Repositories"
INSTALL = "install git {}.{} or newer".format(*OLDEST_GIT)
NO_GIT = "git is not there: agents cannot use repositories"
UNBOUND = (
    "{} {} not there, to bound git on this machine: there are no mirrors, no pushes to existing branches and no skills"
    " of git servers"
)


def check_repositories() -> CheckResult:
    """Look for git and what bounds it, start the broker, and measure the mirrors."""
    if missing := host_git.missing_programs():
        return _missing(missing)
    try:
        version = asyncio.run(host_git.HostGit(1 << 20).version())
    except (host_git.GitFailed, TimeoutError) as error:
        problem = str(error) or "it does not answer"
        return CheckResult(PART, "todo", f"git does not run: {problem}", INSTALL)
    shown = ".".join(map(str, version)) or "of an unknown version"
    if version[:2] < OLDEST_GIT:
        meaning = f"git {shown} is too old for mirrors, pushes and skills"
        return CheckResult(PART, "todo", meaning, INSTALL)
    gates = Gates(settings.PACA_DATA_DIR.resolve(), sandbox_factory.install_id())
    client = routing.broker_client(gates.root)
    try:
        asyncio.run(client.ensure_process())
    except (SandboxUnavailable, OSError) as error:
        reason = getattr(error, "detail", str(error))
        return CheckResult(PART, "broken", reason, f"look into {client.root / 'log'}")
    return passed(PART, f"git {shown}, the broker answers, {_mirrors(gates.root)}")


def _missing(programs: list[str]) -> CheckResult:
    if "git" in programs:
        return CheckResult(PART, "todo", NO_GIT, INSTALL)
    packages = sorted({host_git.PROGRAMS[name] for name in programs})
    meaning = UNBOUND.format(" and ".join(programs), "is" if len(programs) == 1 else "are")
    return CheckResult(PART, "todo", meaning, f"install {' and '.join(packages)}")


def _mirrors(gates: Path) -> str:
    if not settings.GIT_MIRRORS_MIB:
        return "no mirrors are kept: GIT_MIRRORS_MIB is 0"
    taken = mirror_files.size_of_all(routing.mirrors_folder(gates)) >> 20
    return f"mirrors take {taken} of {settings.GIT_MIRRORS_MIB} MiB"
