"""Tries whether the limits of a sandbox hold on this machine: each command goes beyond one of them."""

import asyncio
import itertools
from dataclasses import dataclass

from paca.engine.workspace import Command, CommandOutcome
from paca.sandbox.base import Backend, Sandbox, SandboxLimits, SandboxSpec, new_probe_id

LIMITS = SandboxLimits(memory_mib=160, cpus=1.0, processes=48, workspace_mib=24)
TRIAL_SECONDS = 20.0
BEYOND = "beyond the limit"
# Each prints BEYOND if it is not held. They start no program that an image may lack.
DISK = (
    'for i in 5 6 7 8; do eval "exec $i> x$i"; rm x$i; head -c 16M /dev/zero >&$i || exit 1; sleep 0.2; done; '
    f"sleep 1; echo {BEYOND}"
)
FILES = f"mkdir f; for i in $(seq 9000); do : > f/$i || exit 1; done; sleep 1; echo {BEYOND}"
MEMORY = f"head -c 400M /dev/zero | tail -c 400M > /dev/null && echo {BEYOND}"
PROCESSES = f"for i in $(seq 120); do sleep 5 & done 2> /dev/null; [ $(jobs -p | wc -l) -gt 100 ] && echo {BEYOND}"
# A signal that does nothing is allowed to any process of the same user, unless a filter refuses it.
RUNNER = f"kill -0 1 && echo {BEYOND}"
# The processor time that two busy processes get in one second.
PROCESSOR = (
    "for i in 1 2; do (while :; do :; done) & done; sleep 1; kill $(jobs -p); wait 2> /dev/null; "
    "times > /tmp/times; tail -n 1 /tmp/times"
)
KERNEL_LIMITS_DISK = "echo $(($(stat -f -c '%b * %S' /workspace) >> 20))"


@dataclass(frozen=True, slots=True)
class LimitTrials:
    """What holds here. ``broken`` names the limits that do not.

    ``disk_by_kernel``, ``memory_by_kernel``: else the runner counts.
    """

    broken: tuple[str, ...]
    disk_by_kernel: bool
    memory_by_kernel: bool


async def try_limits(backend: Backend) -> LimitTrials:
    """Try the limits in a sandbox of its own, which is removed again.

    Raises ``SandboxUnavailable`` if it cannot be started, and ``SandboxGone`` if it does not outlive
    the trials.
    """
    spec = SandboxSpec(new_probe_id(), limits=LIMITS)
    sandbox = await backend.open(spec, epoch=1)
    try:
        return await _try_in(sandbox)
    finally:
        await asyncio.shield(sandbox.end(keep_files=False))


async def _try_in(sandbox: Sandbox) -> LimitTrials:
    numbers = itertools.count()

    async def run(line: str) -> CommandOutcome:
        command = Command(f"trial-{next(numbers)}", shell=line, timeout_seconds=TRIAL_SECONDS)
        return await sandbox.run(command)

    trials = {"files": FILES, "memory": MEMORY, "processes": PROCESSES, "the runner": RUNNER}
    broken = []
    size = (await run(KERNEL_LIMITS_DISK)).output.strip()
    for name, line in {"disk space": DISK, **trials}.items():
        if BEYOND in (await run(line)).output:
            broken.append(name)
        await run("rm -rf f")
    if _processor_seconds(await run(PROCESSOR)) > LIMITS.cpus * 1.5:
        broken.append("processor time")
    disk_by_kernel = size.isdigit() and int(size) < 2 * LIMITS.workspace_mib
    return LimitTrials(tuple(broken), disk_by_kernel, sandbox.memory_by_kernel)


def _processor_seconds(outcome: CommandOutcome) -> float:
    """The sum of two times as bash writes them: 0m1.234s 0m0.010s."""
    total = 0.0
    for word in outcome.output.split()[-2:]:
        minutes, _, seconds = word.rstrip("s").partition("m")
        if minutes.isdigit():
            total += int(minutes) * 60 + float(seconds or 0)
    return total
