"""The filter of system calls in Docker's format. It lists the allowed calls, so that no new call slips through.

A custom profile replaces Docker's own, which also lists the allowed calls. This list is shorter: it
contains no call that ``paca.sandbox.seccomp`` refuses in the bubblewrap backend.
"""

import json
from pathlib import Path
from typing import Any

from paca.sandbox.seccomp import NEW_NAMESPACES

ALLOWED = Path(__file__).parent / "syscalls.txt"
EPERM, ENOSYS = 1, 38
# The bits of these arguments that the kernel reads; higher bits would defeat a comparison.
ALL_BITS = 0xFFFFFFFF
SOCKET_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
# Values that do not change the memory layout, and the one that only asks.
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, ALL_BITS)


def allowed_names() -> list[str]:
    """The system calls that are allowed with any arguments."""
    return ALLOWED.read_text().split()


def profile() -> str:
    """The JSON for ``--security-opt seccomp=``. For calls newer than the whole list runc answers ENOSYS."""
    rules = [
        _allow(allowed_names()),
        _allow(["clone"], _masked(NEW_NAMESPACES, 0)),
        *(_allow(["socket"], _masked(ALL_BITS, family)) for family in SOCKET_FAMILIES.values()),
        *(_allow(["personality"], _masked(ALL_BITS, persona)) for persona in PERSONALITIES),
        # A filter cannot read its flags; with this answer libraries fall back to clone.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": EPERM,
            # The daemon uses the entry of its machine. Calls of 32-bit programs belong to no listed architecture.
            "archMap": [
                {"architecture": name, "subArchitectures": []}
                for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
            ],
            "syscalls": rules,
        }
    )


def _allow(names: list[str], *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": list(arguments)}


def _masked(mask: int, value: int) -> dict[str, Any]:
    return {"index": 0, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
