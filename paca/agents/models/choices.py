"""What a setting of an agent can be, where it is one of a few values."""

from django.db import models


class SandboxLife(models.TextChoices):
    """What happens to the processes of an unused sandbox, and to its files when its conversation is archived."""

    EPHEMERAL = "ephemeral", "Ephemeral: its processes end"
    PERSISTENT = "persistent", "Persistent: its processes are paused, and end later"


class SandboxNetwork(models.TextChoices):
    """The network of an agent's sandbox. Its project says how wide it is at most."""

    NONE = "none", "No network"
    RESTRICTED = "restricted", "The hosts that the project lists"
    OPEN = "open", "All public hosts"


class AgentApproval(models.TextChoices):
    """Which of an agent's tool calls wait for a person."""

    AUTO = "auto", "Runs by itself: only catastrophic commands ask"
    UNSAFE = "unsafe", "Asks before unsafe calls"
    ALL = "all", "Asks before each call"


class AgentVerification(models.TextChoices):
    """When an agent is asked to check its work, before a turn ends in which it has changed something."""

    OFF = "off", "Never"
    UNATTENDED = (
        "unattended",
        "Where nobody watches: after an assignment, a mention or a program's call",
    )
    ALWAYS = "always", "In every turn"


class AgentStatus(models.TextChoices):
    """An active agent works, a paused one queues new work, an inactive one refuses it."""

    ACTIVE = "active"
    PAUSED = "paused"
    INACTIVE = "inactive"


class AgentCategory(models.TextChoices):
    """The field of work that lists sort an agent into. Its type says more, and keeps when the category changes."""

    ENGINEERING = "engineering", "Engineering"
    PRODUCT = "product", "Product"
    QUALITY = "quality", "Quality"
    OPERATIONS = "operations", "Operations"
    DATA = "data", "Data"
    WRITING = "writing", "Writing"
    SUPPORT = "support", "Support"
    ASSISTANT = "assistant", "Assistant"
    CUSTOM = "custom", "Custom"


class AgentPriority(models.IntegerChoices):
    """Whose waiting work a free worker begins first."""

    LOW = 0, "Low"
    MEDIUM = 1, "Medium"
    HIGH = 2, "High"
    CRITICAL = 3, "Critical"

    @classmethod
    def of(cls, name: str) -> "AgentPriority":
        """The priority that the API calls so. Raises ``KeyError`` if there is none."""
        return cls[name.upper()]
