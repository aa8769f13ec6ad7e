"""The filter of system calls as Docker takes it: names what is allowed, so that nothing is forgotten.

A profile of one's own replaces Docker's, which allows what it lists and refuses all else. So this one
lists too, and lists less: what ``paca.sandbox.seccomp`` refuses in the other backend is on no list.
"""

import json
from pathlib import Path
from typing import Any

from paca.sandbox.seccomp import NEW_NAMESPACES

ALLOWED = Path(__file__).parent / "syscalls.txt"
EPERM, ENOSYS = 1, 38
WHOLE = 0xFFFFFFFF  # what the kernel reads of these arguments: the bits above would deceive a comparison
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
PERSONALITIES = (
    0x0,
    0x8,
    0x20000,
    0x20008,
    WHOLE,
)  # to ask, and what changes no memory layout for all


def allowed_names() -> list[str]:
    """The system calls that need no look at their arguments."""
    return ALLOWED.read_text().split()


def profile() -> str:
    """The JSON of ``--security-opt seccomp=``. Calls newer than all on the list give ENOSYS (runc does)."""
    rules = [
        _allow(allowed_names()),
        _allow(["clone"], _masked(NEW_NAMESPACES, 0)),
        *(_allow(["socket"], _masked(WHOLE, family)) for family in FAMILIES.values()),
        *(_allow(["personality"], _masked(WHOLE, persona)) for persona in PERSONALITIES),
        # Its flags cannot be seen; with this answer libraries fall back to clone.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": EPERM,
            # The daemon takes its own; calls of 32-bit programs are of no listed architecture.
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
