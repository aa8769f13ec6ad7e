"""Checks that the network gate of sandboxes starts on this machine, and refuses what it must."""

from __future__ import annotations

import asyncio

from django.conf import settings

from paca.common.network_policy import CLOSED
from paca.engine.workspace import SandboxUnavailable
from paca.ops import sandbox_factory
from paca.ops.check_result import CheckResult, passed
from paca.sandbox.base import new_probe_id
from paca.sandbox.egress import gates, isolation, seccomp_filter
from paca.sandbox.egress.gates import Gates

PROBE = b"CONNECT example.org:443 HTTP/1.1\r\n\r\n"
ANSWER_SECONDS = 10.0
SHARED = "runs with all rights of its user: this kernel has no Landlock"
UNFILTERED = "can use all sockets in files of its user: no filter of system calls is possible here"
FILTERED_BY = "use Linux with seccomp on x86_64 or aarch64, and glibc"
ALONE = "sees its own folder only"


def check_network_gate() -> CheckResult:
    """Start the gate with a policy that allows nothing, and ask it for a host."""
    opened = Gates(settings.PACA_DATA_DIR.resolve(), sandbox_factory.install_id())
    try:
        answer = asyncio.run(_ask(opened))
    except SandboxUnavailable as error:
        return CheckResult("Network", "broken", error.detail, f"look into {opened.root / 'log'}")
    except (OSError, TimeoutError) as error:
        reason = (
            f"the network gate of sandboxes does not answer: {str(error) or type(error).__name__}"
        )
        return CheckResult("Network", "broken", reason, f"look into {opened.root / 'log'}")
    if b"X-Paca-Refused: closed" not in answer:
        reason = "the network gate of sandboxes answers in an unknown way"
        return CheckResult("Network", "broken", reason, "restart the workers")
    if not isolation.landlock_version():
        return CheckResult("Network", "todo", f"the gate {SHARED}", "use Linux 5.13 or newer")
    if not seccomp_filter.is_possible():
        return CheckResult("Network", "todo", f"the gate {UNFILTERED}", FILTERED_BY)
    return passed("Network", f"the gate of sandboxes answers, refuses, and {ALONE}")


async def _ask(opened: Gates) -> bytes:
    probe = new_probe_id()
    try:
        await opened.open(probe, CLOSED)
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await gates.connect(opened.folder(probe).socket)
            writer.write(PROBE)
            answer = await reader.read(-1)
            writer.close()
            return answer
    finally:
        opened.folder(probe).remove()
