"""Tells which limits of sandboxes hold on this machine, after trying each."""

from paca.engine.workspace import WorkspaceError
from paca.ops import sandbox_factory
from paca.sandbox.limit_trials import LimitTrials


def try_limits() -> tuple[bool, str]:
    """Whether all limits hold here, and what was found, in words. Takes some seconds."""
    try:
        found = sandbox_factory.try_limits()
    except WorkspaceError as reason:
        return False, f"not tried: {reason.detail}"
    if found.broken:
        return False, f"not held here: {', '.join(found.broken)}"
    return True, describe(found)


def describe(found: LimitTrials) -> str:
    """The limits that were held, in words."""
    disk = (
        "disk space and files by the kernel"
        if found.disk_by_kernel
        else "disk space and files by counting, which may notice a second late"
    )
    memory = (
        "memory by the kernel"
        if found.memory_by_kernel
        else "memory by counting, which does not see all kinds"
    )
    return (
        f"held when tried: {disk}; {memory}; processes, processor time; the runner is out of reach"
    )
