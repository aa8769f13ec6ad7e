"""The settings of sandboxes that are about trust, which ``settings.py`` takes over. Each has its unit in its name."""

from paca import env

__all__ = [
    "SANDBOX_ARCHIVED_SECONDS",
    "SANDBOX_DISK_MIB",
    "SANDBOX_MAX_DISK_MIB",
    "SANDBOX_MAX_FILES",
    "SANDBOX_RUNTIME",
]

SANDBOX_DISK_MIB = env.integer(
    "SANDBOX_DISK_MIB",
    2048,
    at_least=16,
    at_most=1 << 20,
    meaning="What the workspace of one sandbox may store, unless its agent says otherwise.",
)
SANDBOX_MAX_DISK_MIB = env.integer(
    "SANDBOX_MAX_DISK_MIB",
    16_384,
    at_least=16,
    at_most=1 << 20,
    meaning="The most that an agent may set for the workspace of its sandbox.",
)
SANDBOX_MAX_FILES = env.integer(
    "SANDBOX_MAX_FILES",
    2_097_152,
    at_least=1024,
    at_most=1 << 28,
    meaning="The most files and folders that the workspace of a sandbox may have. An agent without a number of its "
    "own has 128 for each MiB.",
)
SANDBOX_RUNTIME = env.text(
    "SANDBOX_RUNTIME",
    meaning="Docker only: the runtime of its containers, such as runsc for gVisor. It is then needed: sandboxes do "
    "not start without it, nor with bubblewrap. Empty: Docker's default.",
)
SANDBOX_ARCHIVED_SECONDS = env.seconds(
    "SANDBOX_ARCHIVED_SECONDS",
    3600,
    meaning="The files of an ephemeral sandbox are removed this long after its conversation was archived. Until then "
    "it can be taken back from the archive with its files.",
)
