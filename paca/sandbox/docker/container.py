"""What a container of ours is: what it may, what it sees, what it may use at most."""

import json
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap.launcher import BOOT_CODE
from paca.sandbox.docker import seccomp_profile
from paca.sandbox.exit_cause import KILLED
from paca.sandbox.runner import HOME, TMP, WORKSPACE
from paca.sandbox.runner_bundle import BUNDLE_ROOT

USER = 10001  # as the image says; also whom its /workspace, and so a new volume, belongs to
MANAGED_LABEL, CONVERSATION_LABEL, INSTALL_LABEL = (
    "paca.managed",
    "paca.conversation_id",
    "paca.install",
)
OWNER_LABEL = "paca.ready_in"
RUNNER_LABEL = "paca.runner"  # on the image: which runner is in it
CPU_PERIOD = 100_000
LENGTH_OF_UUID = 36
ENDED_STATES = ("exited", "dead")
ABANDONED_SECONDS = 600.0  # by the daemon's clock, which may differ from ours a little
SPARE_PROCESSES = 16  # the runner's own and the few that a command's end overlaps with
SPARE_FILES = 1024  # the runner's own: commands get less
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
    """A container as Docker describes it. ``left``: made so long ago that nobody will start it;
    ``volume``: that of its workspace.

    ``ended_at``, ``exit_code`` and ``said`` are of one that has ended; ``oom_killed``: processes in it
    were killed for lack of memory, now or at any time before.
    """

    id: str
    running: bool
    starting: bool
    paused: bool = False
    abandoned: bool = False
    volume: str = ""
    ended_at: float = 0.0
    exit_code: int | None = None
    oom_killed: bool = False
    error: str = ""

    @property
    def may_be_out_of_memory(self) -> bool:
        return self.oom_killed and self.exit_code == KILLED


def parse_container(seen: dict[str, Any]) -> Container:
    """From the answer of ``GET /containers/<name>/json``."""
    state = seen["State"]
    return Container(
        seen["Id"],
        running=state["Running"],
        starting=state["Status"] == "created",
        paused=state["Paused"],
        abandoned=is_abandoned(parse_time(seen["Created"])),
        volume=next(
            (each["Name"] for each in seen["Mounts"] if each["Destination"] == WORKSPACE), ""
        ),
        ended_at=parse_time(state["FinishedAt"]) if state["Status"] in ENDED_STATES else 0.0,
        exit_code=state["ExitCode"] if state["Status"] in ENDED_STATES else None,
        oom_killed=bool(state.get("OOMKilled")),
        error=str(state.get("Error") or ""),
    )


def parse_time(text: str) -> float:
    """A time as Docker writes it, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def is_abandoned(made_at: float) -> bool:
    """Whether a container that was only made was so by a worker that died meanwhile."""
    return time.time() - made_at > ABANDONED_SECONDS


def container_name(install_id: str, conversation_id: UUID | str) -> str:
    """One a conversation: whoever makes a second is told that the name is taken."""
    return f"paca-{install_id}-{conversation_id}"


def possible_names(install_id: str, conversation_id: UUID) -> tuple[str, str]:
    """Where to look for it: under its name and, should a stranger have taken that, under the second."""
    name = container_name(install_id, conversation_id)
    return name, f"{name}-2"


def belongs_to(install_id: str, seen: dict[str, Any]) -> bool:
    """Whether a container is this installation's, and no stranger's of the same name."""
    return (seen["Config"]["Labels"] or {}).get(INSTALL_LABEL) == install_id


def volume_name(install_id: str, conversation_id: UUID) -> str:
    """Unless its row names another, or it has one of before volumes bore their installation."""
    return f"paca-{install_id}-ws-{conversation_id}"


def former_volume_name(conversation_id: UUID) -> str:
    return f"paca-ws-{conversation_id}"


def conversation_from_names(install_id: str, names: list[str]) -> UUID | None:
    """Whose a container is, by its names as Docker lists them; None if no conversation's."""
    prefix = f"/{container_name(install_id, '')}"
    for name in names:
        if name.startswith(prefix):
            return _parse_uuid(name.removeprefix(prefix)[:LENGTH_OF_UUID])
    return None


def conversation_from_volume(volume: str) -> UUID | None:
    """Whose id ends a volume's name; None if nobody's."""
    return _parse_uuid(volume[-LENGTH_OF_UUID:])


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def labels(install_id: str, conversation_id: UUID | str = "", *, owner: str = "") -> dict[str, str]:
    """For people and filters. They cannot be changed: one that was made before it was any
    conversation's says only which worker, its ``owner``, made it."""
    owner_label = {OWNER_LABEL: owner} if owner else {CONVERSATION_LABEL: str(conversation_id)}
    return {MANAGED_LABEL: "true", INSTALL_LABEL: install_id, **owner_label}


def configuration(
    spec: SandboxSpec,
    *,
    image: str,
    labels: dict[str, str],
    volume: str,
    epoch: int,
    orphan_seconds: float,
) -> dict[str, Any]:
    """The body of ``POST /containers/create``. No secret is in it: whoever may inspect it may read it."""
    return {
        "Image": image,
        "Hostname": "sandbox",
        "User": f"{USER}:{USER}",
        "WorkingDir": "/",
        "Labels": labels,
        # Isolated, without site: faster, and nothing of the agent's can change what is imported.
        "Entrypoint": ["/usr/bin/python3", "-I", "-S", "-X", "utf8", "-c", BOOT_CODE],
        "Cmd": [_runner_settings(spec, epoch, orphan_seconds)],
        "StopSignal": "SIGKILL",  # else a daemon that ends waits ten seconds for a runner that ignores it
        "OpenStdin": True,
        "StdinOnce": False,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "NetworkDisabled": True,
        "HostConfig": {
            **_resource_limits(spec.limits),
            **_isolation(),
            "AutoRemove": False,  # what it died of can be asked until a sweep removes it
            "LogConfig": {"Type": "none", "Config": {}},
            "Mounts": [
                {
                    "Type": "volume",
                    "Source": volume,
                    "Target": WORKSPACE,
                    "VolumeOptions": {"Labels": labels},
                }
            ],
        },
    }


def _runner_settings(spec: SandboxSpec, epoch: int, orphan_seconds: float) -> str:
    return json.dumps(
        {
            **asdict(spec.limits),
            "epoch": epoch,
            "orphan_seconds": orphan_seconds,
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{BUNDLE_ROOT}/runner/bin/no-input",
            "shared_user": True,
        }
    )


def _resource_limits(limits: SandboxLimits) -> dict[str, Any]:
    memory = limits.memory_mib << 20
    in_memory = f"rw,exec,nosuid,nodev,size={memory // 4}"
    files = limits.open_files + SPARE_FILES
    return {
        "Memory": memory,
        "MemorySwap": memory,  # together, so: no swap
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


def _isolation() -> dict[str, Any]:
    return {
        "Privileged": False,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={seccomp_profile.profile()}"],
        "ReadonlyRootfs": True,
        "NetworkMode": "none",
        "IpcMode": "private",
        "Init": False,  # the runner is process 1, and only so survives `kill -9 -1`
        "OomKillDisable": False,
        "MaskedPaths": list(MASKED_PATHS),
        "ReadonlyPaths": list(READ_ONLY_PATHS),
    }
