"""Reads the limits of a container back from the kernel: a limit that was only requested is not trusted."""

import re
from typing import Any

from paca.engine.workspace import Command, SandboxUnavailable, SandboxWorkspace
from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.docker.container import CPU_PERIOD, SPARE_PROCESSES
from paca.sandbox.docker.engine import PREFIX

# Control groups write a number of about this size in version 1, and "max" in version 2.
UNLIMITED = 1 << 60
# Each reading with its files: control groups of version 2 first, then of version 1.
SCRIPT = r"""
say() { name=$1; shift; for file; do [ -r "$file" ] && echo "$name=$(head -n1 "$file")" && return; done; }
cd /sys/fs/cgroup
say memory memory.max memory/memory.limit_in_bytes
say swap memory.swap.max
say memory_and_swap memory/memory.memsw.limit_in_bytes
say processes pids.max pids/pids.max
say cpu cpu.max
say cpu_quota cpu/cpu.cfs_quota_us cpu,cpuacct/cpu.cfs_quota_us
say cpu_period cpu/cpu.cfs_period_us cpu,cpuacct/cpu.cfs_period_us
say oom memory.events memory/memory.oom_control
echo "swap_there=$(grep -c '^/' /proc/swaps)"
echo "interfaces=$(ls /sys/class/net 2>/dev/null | grep -vcx lo)"
echo "uid=$(id -u)"
echo "root_is_writable=$( (: > /paca-probe) 2>/dev/null && echo 1 || echo 0)"
sed -nE 's/^(CapEff|CapBnd|NoNewPrivs|Seccomp):\s+/\1=/p' /proc/self/status
"""


WITH_OWN_KERNEL = "runtime {}, no network, no capabilities; its limits cannot be read inside, so try them: doctor --limits"
# What a kernel within the sandbox does not tell.
OF_THE_HOST = frozenset(
    [
        "memory is not limited",
        "swap is not limited",
        "processes are not limited",
        "processor time is not limited",
        "out-of-memory kills are not counted",
        "processes can gain privileges",
        "no filter of system calls is set",
    ]
)


async def run_self_test(
    workspace: SandboxWorkspace,
    spec: SandboxSpec,
    daemon: dict[str, Any],
    image: str,
    runtime: str = "",
) -> str:
    """Run the self-test in a sandbox and describe its limits in one line.

    ``daemon``: Docker's answer to a version request. ``runtime``: as in ``unmet_limits``.
    Raises ``SandboxUnavailable`` if a limit is not enforced.
    """
    outcome = await workspace.run(Command("self-test", shell=SCRIPT, timeout_seconds=20))
    readings = dict(re.findall(r"^(\w+)=(.*)$", outcome.output, re.MULTILINE))
    if problems := unmet_limits(readings, spec.limits, runtime):
        raise SandboxUnavailable(
            f"{PREFIX}Docker does not enforce the limits of a sandbox here: {'; '.join(problems)}."
        )
    found = WITH_OWN_KERNEL.format(runtime) if runtime else describe_limits(readings)
    return f"Docker {daemon.get('Version', '?')}, image {image}: {found}"


def unmet_limits(readings: dict[str, str], limits: SandboxLimits, runtime: str = "") -> list[str]:
    """The limits and restrictions that are not in effect, each as words for people.

    ``runtime``: the one that the operator has chosen. If it brings a kernel of its own, as gVisor does, the limits of
    Docker's cannot be read in there.
    """
    checks = {
        "memory is not limited": _number(readings, "memory") <= limits.memory_mib << 20,
        "swap is not limited": _swap_is_limited(readings, limits),
        "processes are not limited": _number(readings, "processes")
        <= limits.processes + SPARE_PROCESSES,
        "processor time is not limited": _cores(readings) <= limits.cpus + 0.01,
        "out-of-memory kills are not counted": "oom" in readings,
        "it has a network": readings.get("interfaces") == "0",
        "it runs as root": readings.get("uid", "0") != "0",
        "the root file system is writable": readings.get("root_is_writable") == "0",
        "it has capabilities": {readings.get("CapEff"), readings.get("CapBnd")} == {"0" * 16},
        "processes can gain privileges": readings.get("NoNewPrivs") == "1",
        "no filter of system calls is set": readings.get("Seccomp") == "2",
    }
    if runtime and "memory" not in readings:
        checks = {problem: checks[problem] for problem in checks if problem not in OF_THE_HOST}
    return [problem for problem, holds in checks.items() if not holds]


def describe_limits(readings: dict[str, str]) -> str:
    """The limits as the kernel reports them, as words for people."""
    cores = _cores(readings)
    return (
        f"{_number(readings, 'memory') >> 20} MiB of memory without swap, "
        f"{cores:g} core{'' if cores == 1 else 's'}, "
        f"{_number(readings, 'processes')} processes, no network, no capabilities"
    )


def _swap_is_limited(readings: dict[str, str], limits: SandboxLimits) -> bool:
    if readings.get("swap_there") == "0":  # the machine has no swap
        return True
    together = _number(readings, "memory_and_swap")
    return _number(readings, "swap") == 0 or together <= limits.memory_mib << 20


def _number(readings: dict[str, str], name: str) -> int:
    value = readings.get(name, "")
    return int(value) if value.isdigit() else UNLIMITED


def _cores(readings: dict[str, str]) -> float:
    quota, _, period = readings.get("cpu", "").partition(" ")
    quota, period = quota or readings.get("cpu_quota", ""), period or readings.get("cpu_period", "")
    if not quota.isdigit():
        return float("inf")
    return int(quota) / (int(period) if period.isdigit() else CPU_PERIOD)
