"""How much the sandbox of an agent may use: what its settings want, as far as the installation allows it."""

from django.conf import settings

from paca.agents.models import Agent
from paca.sandbox.base import SandboxLimits


def default_limits() -> SandboxLimits:
    """The limits of the sandbox of an agent that sets none."""
    return SandboxLimits(
        memory_mib=settings.SANDBOX_MEMORY_MIB,
        cpus=float(settings.SANDBOX_CPUS),
        workspace_mib=min(settings.SANDBOX_DISK_MIB, settings.SANDBOX_MAX_DISK_MIB),
        max_files=settings.SANDBOX_MAX_FILES,
    )


def limits_of(agent: Agent) -> SandboxLimits:
    """The limits of the agent's sandbox. The installation may have lowered its ceiling since they were set."""
    default = default_limits()
    # guard: sandbox-disk-ceiling
    disk_mib = min(agent.sandbox_disk_mib or default.workspace_mib, settings.SANDBOX_MAX_DISK_MIB)
    return SandboxLimits(
        memory_mib=agent.sandbox_memory_mib or default.memory_mib,
        cpus=float(agent.sandbox_cpus or default.cpus),
        workspace_mib=disk_mib,
        files=agent.sandbox_files,
        max_files=settings.SANDBOX_MAX_FILES,
    )


def find_errors(agent: Agent) -> dict[str, list[str]]:
    """The errors of limits that are beyond the ceiling of the installation, by field."""
    found = {}
    for field, name, ceiling in (
        ("sandbox_disk_mib", "SANDBOX_MAX_DISK_MIB", settings.SANDBOX_MAX_DISK_MIB),
        ("sandbox_files", "SANDBOX_MAX_FILES", settings.SANDBOX_MAX_FILES),
    ):
        value = getattr(agent, field)
        # guard: sandbox-quota-above-the-ceiling
        if isinstance(value, int) and value > ceiling:
            found[field] = [
                f"At most {ceiling} is possible on this server. Its operator can raise {name}."
            ]
    return found
