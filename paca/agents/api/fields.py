"""Fields of serializers that only agents have."""

from typing import Any

from rest_framework import serializers

from paca.agents.models import AgentPriority

AUTO_START = (
    "Whether it begins assigned tasks by itself. If not, each waits in a queued conversation with `waits_for` start until"
    " `continue/` or a message; mentions and chats begin at once."
)


class PriorityField(serializers.ChoiceField):
    """The priority of an agent by its name: low, medium, high or critical."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=[each.name.lower() for each in AgentPriority], **options)

    def to_representation(self, value: Any) -> str:
        return AgentPriority(value).name.lower()

    def to_internal_value(self, data: Any) -> Any:
        return AgentPriority.of(super().to_internal_value(data))
