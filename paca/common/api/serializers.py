"""The base class of serializers for request bodies: unknown fields are refused."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request


class InputSerializer(serializers.Serializer[Any]):
    """The fields that a request may have. An unknown field is refused, because it would have no effect."""

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
        """The validated data of a request; ``partial=True`` for a PATCH. Raises ``ValidationError``."""
        serializer = cls(data=request.data, **options)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)


class QuerySerializer(InputSerializer):
    """The query of an address."""

    @classmethod
    def read_query(cls, request: Request) -> dict[str, Any]:
        """The validated query. Raises ``ValidationError``."""
        given = request.query_params
        known = {name: given[name] for name in map(str, cls().fields) if name in given}
        serializer = cls(data=known)
        serializer.is_valid(raise_exception=True)
        return dict(serializer.validated_data)
