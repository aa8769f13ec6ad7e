"""Describes containers of sandboxes: names, labels, configuration, and the state that Docker reports."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.docker import seccomp_profile, skill_files
from paca.sandbox.environment import SETUP_FOLDER
from paca.sandbox.exit_cause import KILLED
from paca.sandbox.runner import CACHE, HOME, TMP, UNATTENDED_SECONDS_KEY, WORKSPACE
from paca.sandbox.runner.forward import GATE_FOLDER
from paca.sandbox.runner_bundle import BUNDLE_ROOT, RUNNER_ARGUMENTS

USER = 10001  # the user of the image, who owns its /workspace and so each new volume
MANAGED_LABEL, CONVERSATION_LABEL, INSTALL_LABEL = (
    "paca.managed",
    "paca.conversation_id",
    "paca.install",
)
OWNER_LABEL = "paca.ready_in"
RUNNER_LABEL = "paca.runner"  # on the image: the version of the runner in it
CPU_PERIOD = 100_000
UUID_LENGTH = 36
ENDED_STATES = ("exited", "dead")
# Compared with a time of the daemon's clock, which may differ a little from ours.
OLD_SECONDS = 600.0
SPARE_PROCESSES = 16  # for the runner, and for processes of an ended command that are still there
SPARE_FILES = 1024  # for the runner; commands get less
MASKED_PATHS = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/kernel",
    "/sys/module",
)
READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


@dataclass(frozen=True, slots=True)
class Container:
    """A container as Docker reports it.

    ``starting``: created and not started. ``is_old``: created so long ago that, if it is not started yet,
    its worker must have died. ``volume``: the volume of its workspace. ``ended_at`` (seconds since 1970),
    ``exit_code`` and ``error`` are set when it has ended.
    """

    id: str
    running: bool
    starting: bool
    paused: bool = False
    is_old: bool = False
    volume: str = ""
    ended_at: float = 0.0
    exit_code: int | None = None
    error: str = ""

    @property
    def was_killed(self) -> bool:
        """Whether the container was killed, by the kernel for lack of memory or by somebody."""
        return self.exit_code == KILLED


def parse_container(inspected: dict[str, Any]) -> Container:
    """The container from the answer to ``GET /containers/<name>/json``."""
    state = inspected["State"]
    return Container(
        inspected["Id"],
        running=state["Running"],
        starting=state["Status"] == "created",
        paused=state["Paused"],
        is_old=is_old(parse_time(inspected["Created"])),
        volume=next(
            (mount["Name"] for mount in inspected["Mounts"] if mount["Destination"] == WORKSPACE),
            "",
        ),
        ended_at=parse_time(state["FinishedAt"]) if state["Status"] in ENDED_STATES else 0.0,
        exit_code=state["ExitCode"] if state["Status"] in ENDED_STATES else None,
        error=str(state.get("Error") or ""),
    )


def parse_time(text: str) -> float:
    """A time as Docker writes it, in seconds since 1970. Raises ``ValueError``."""
    return datetime.fromisoformat(text).timestamp()


def is_old(created_at: float) -> bool:
    """Whether a thing was created so long ago that a worker which has not used it yet must have died."""
    return time.time() - created_at > OLD_SECONDS


def container_name(install_id: str, conversation_id: UUID | str) -> str:
    """The name of a conversation's container. Docker refuses a second container of the same name."""
    return f"paca-{install_id}-{conversation_id}"


def possible_names(install_id: str, conversation_id: UUID) -> tuple[str, str]:
    """The names that a conversation's container may have: the second if a foreign container has the first."""
    name = container_name(install_id, conversation_id)
    return name, f"{name}-2"


def belongs_to(install_id: str, inspected: dict[str, Any]) -> bool:
    """Whether an inspected container belongs to the installation, and not only has such a name."""
    return (inspected["Config"]["Labels"] or {}).get(INSTALL_LABEL) == install_id


def volume_name(install_id: str, conversation_id: UUID) -> str:
    """The name of a conversation's volume, unless its row names another or it has a former name."""
    return f"paca-{install_id}-ws-{conversation_id}"


def former_volume_name(conversation_id: UUID) -> str:
    """The name of a conversation's volume from before names contained the installation."""
    return f"paca-ws-{conversation_id}"


def conversation_from_names(install_id: str, names: list[str]) -> UUID | None:
    """The conversation of a container with these listed names; None if it is in no conversation."""
    prefix = f"/{container_name(install_id, '')}"
    for name in names:
        if name.startswith(prefix):
            return _parse_uuid(name.removeprefix(prefix)[:UUID_LENGTH])
    return None


def conversation_from_volume(volume: str) -> UUID | None:
    """The conversation whose id ends a volume's name; None if the name ends in no id."""
    return _parse_uuid(volume[-UUID_LENGTH:])


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def labels(install_id: str, conversation_id: UUID | str = "", *, owner: str = "") -> dict[str, str]:
    """The labels of a container and its volume.

    Labels cannot be changed later. A sandbox of the warm pool is made before it has a conversation, so
    its labels name the worker that made it, its ``owner``, instead.
    """
    owner_label = {OWNER_LABEL: owner} if owner else {CONVERSATION_LABEL: str(conversation_id)}
    return {MANAGED_LABEL: "true", INSTALL_LABEL: install_id, **owner_label}


def configuration(
    spec: SandboxSpec,
    *,
    image: str,
    labels: dict[str, str],
    volume: str,
    epoch: int,
    unattended_seconds: float,
    runtime: str = "",
) -> dict[str, Any]:
    """The body of ``POST /containers/create``. It contains no secret: everyone with access to Docker can read it."""
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": f"{USER}:{USER}",
        "WorkingDir": "/",
        "Labels": labels,
        "Entrypoint": ["/usr/bin/python3", *RUNNER_ARGUMENTS],
        "Cmd": [_runner_settings(spec, epoch, unattended_seconds)],
        "StopSignal": "SIGKILL",  # the runner ignores TERM, so a daemon that stops would wait ten seconds
        "OpenStdin": True,
        "StdinOnce": False,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "NetworkDisabled": True,
        "HostConfig": {
            **_resource_limits(spec.limits),
            **isolation(runtime),
            "AutoRemove": False,  # Docker reports the exit cause until a sweep removes the container
            "LogConfig": {"Type": "none", "Config": {}},
            "Mounts": [
                workspace_mount(volume, labels),
                *([skill_files.volume_mount(labels)] if spec.read_files else []),
                *([_bind(spec.gate, GATE_FOLDER, read_only=True)] if spec.gate else []),
                *([_bind(spec.cache, CACHE, read_only=False)] if spec.cache else []),
                *_setup_mounts(spec, volume, labels),
            ],
        },
    }


def workspace_mount(volume: str, labels: dict[str, str]) -> dict[str, Any]:
    """The mount of the volume with the files of a conversation."""
    return {
        "Type": "volume",
        "Source": volume,
        "Target": WORKSPACE,
        "VolumeOptions": {"Labels": labels},
    }


def _bind(folder: Path, target: str, *, read_only: bool) -> dict[str, Any]:
    """The mount of a folder of Docker's machine, which refuses one that it has not."""
    return {"Type": "bind", "Source": str(folder), "Target": target, "ReadOnly": read_only}


def _setup_mounts(
    spec: SandboxSpec, volume: str, labels: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """The mount of what is set up: in the sandbox that sets it up its own files, in others read-only."""
    if spec.builds_setup or spec.setup is not None:
        source = volume if spec.setup is None else volume_name(labels[INSTALL_LABEL], spec.setup)
        yield {
            "Type": "volume",
            "Source": source,
            "Target": SETUP_FOLDER,
            "ReadOnly": not spec.builds_setup,
            "VolumeOptions": {"NoCopy": True, "Labels": labels},
        }


def _runner_settings(spec: SandboxSpec, epoch: int, unattended_seconds: float) -> str:
    return json.dumps(
        {
            **asdict(spec.limits),
            "workspace_files": spec.limits.workspace_files,
            # A helper may start the sandbox: its epoch says nothing of the conversation's own.
            "epoch": 0 if spec.session else epoch,
            UNATTENDED_SECONDS_KEY: unattended_seconds,
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{BUNDLE_ROOT}/runner/bin/no-input",
            "shared_user": True,
            "has_gate": spec.gate is not None,
            "has_cache": spec.cache is not None,
        }
    )


def _resource_limits(limits: SandboxLimits) -> dict[str, Any]:
    memory = limits.memory_mib << 20
    in_memory = f"rw,exec,nosuid,nodev,size={memory // 4}"
    files = limits.open_files + SPARE_FILES
    return {
        "Memory": memory,
        "MemorySwap": memory,  # memory and swap together, so there is no swap
        "CpuPeriod": CPU_PERIOD,
        "CpuQuota": int(limits.cpus * CPU_PERIOD),
        "PidsLimit": limits.processes + SPARE_PROCESSES,
        "Ulimits": [
            {"Name": "nofile", "Soft": files, "Hard": files},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
        "ShmSize": memory // 4,
        "Tmpfs": {
            TMP: f"{in_memory},mode=1777",
            "/run": f"{in_memory},mode=1777",
            HOME: f"{in_memory},mode=0700,uid={USER},gid={USER}",
        },
    }


def isolation(runtime: str = "") -> dict[str, Any]:
    """What keeps a container from the machine: no capability, no network, and nothing to write but its mounts.

    ``runtime``: the one that the daemon starts it with, if it is not the daemon's default.
    """
    return {
        **({"Runtime": runtime} if runtime else {}),
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={seccomp_profile.profile()}"],
        "ReadonlyRootfs": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "Init": False,  # the runner is process 1, and survives `kill -9 -1` only as such
        "OomKillDisable": False,
        "MaskedPaths": list(MASKED_PATHS),
        "ReadonlyPaths": list(READ_ONLY_PATHS),
    }
