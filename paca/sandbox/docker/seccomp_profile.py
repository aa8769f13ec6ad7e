"""The filter of system calls in Docker's format, which replaces Docker's own.

It allows the same calls as the filter of the bubblewrap backend.
"""

import json
from typing import Any

from paca.sandbox.seccomp import (
    NEW_NAMESPACES,
    PERSONALITIES,
    SOCKET_FAMILIES,
    allowed_calls,
)

EPERM, ENOSYS = 1, 38
# The bits of these arguments that the kernel reads; higher bits would defeat a comparison.
ALL_BITS = 0xFFFFFFFF


def profile() -> str:
    """The JSON for ``--security-opt seccomp=``. For calls newer than the whole list runc answers ENOSYS."""
    rules = [
        _allow(list(allowed_calls())),
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
