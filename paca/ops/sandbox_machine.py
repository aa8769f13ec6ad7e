"""What this machine has for the isolation of sandboxes, in words for people. It reads files, and asks Docker once."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings

from paca.engine.workspace import WorkspaceError
from paca.sandbox.docker.engine import DockerEngine

CGROUPS = Path("/sys/fs/cgroup")
USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
APPARMOR_USERNS = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


def describe() -> tuple[list[str], list[str]]:
    """What is there, and what is missing with the next step; each a clause."""
    facts, missing = _kernel()
    docker_facts, docker_missing = _docker()
    return [*facts, *docker_facts], [*missing, *docker_missing]


def _kernel() -> tuple[list[str], list[str]]:
    is_second = (CGROUPS / "cgroup.controllers").exists()
    facts, missing = [f"control groups of version {2 if is_second else 1}"], []
    status = Path("/proc/self/status").read_text()
    if "Seccomp_filters:" in status or "Seccomp:" in status:
        facts.append("seccomp")
    else:
        missing.append("this kernel has no seccomp: choose one that has it")
    facts.append(
        f"AppArmor {'on' if Path('/sys/kernel/security/apparmor').is_dir() else 'not there'}"
    )
    if os.geteuid() != 0 and (problem := _user_namespaces_problem()):
        missing.append(problem)
    return facts, missing


def _user_namespaces_problem() -> str:
    """Why bubblewrap cannot make its one user namespace without root; empty if it can."""
    if _read(USER_NAMESPACES) == "0":
        return "bubblewrap needs user namespaces here: sysctl user.max_user_namespaces=10000"
    if _read(APPARMOR_USERNS) == "1":
        return "AppArmor keeps user namespaces from bubblewrap: give bwrap a profile with userns"
    return ""


def _docker() -> tuple[list[str], list[str]]:
    if settings.PACA_SANDBOX in ("bubblewrap", "none"):
        return [], []
    engine = DockerEngine(settings.DOCKER_HOST, settings.DOCKER_CERT_PATH)
    try:
        info = engine.call_sync(lambda client: client.info())
    except WorkspaceError:
        return ["no Docker"], []
    return read_docker(info)


def read_docker(info: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What Docker's answer to ``info`` says of its isolation, and what is missing for sandboxes."""
    options = " ".join(info.get("SecurityOptions") or [])
    is_rootless, version = "name=rootless" in options, str(info.get("CgroupVersion") or "1")
    runtimes = sorted(name for name in info.get("Runtimes") or {} if not name.startswith("io."))
    owner = "without root" if is_rootless else "as root"
    if "name=userns" in options:
        owner += " with its own users"
    facts = [f"Docker {owner}, control groups of version {version}, runtimes {', '.join(runtimes)}"]
    missing = []
    if "name=seccomp" not in options:
        missing.append("Docker applies no seccomp: use a daemon that does")
    if is_rootless and version != "2":
        missing.append(
            "Docker without root limits nothing here: it needs control groups of version 2"
        )
    if settings.SANDBOX_RUNTIME and settings.SANDBOX_RUNTIME not in runtimes:
        missing.append(
            f"Docker has no runtime {settings.SANDBOX_RUNTIME}: add it, or unset SANDBOX_RUNTIME"
        )
    return facts, missing


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
