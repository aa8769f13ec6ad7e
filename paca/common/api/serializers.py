"""The base of the serializers that read a request: unknown fields are refused."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request


class InputSerializer(serializers.Serializer[Any]):
    """What a request may hold; a field that is not known is refused, for it would have no effect."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        unknown = [name for name in data if name not in self.fields]
        if unknown:
            raise serializers.ValidationError(
                {name: ["There is no such field."] for name in unknown}
            )
        return value

    @classmethod
    def read(cls, request: Request, **options: Any) -> dict[str, Any]:
        """The checked input of a request; ``partial=True`` for a PATCH."""
        serializer = cls(data=request.data, **options)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)
