"""Serializers of search."""

from typing import Any

from rest_framework import serializers

from paca.common.api.serializers import QuerySerializer
from paca.projects import page_addresses
from paca.projects.models import SearchKind
from paca.projects.search import MAX_HITS, Hit


class PieceSerializer(serializers.Serializer[Any]):
    """A part of a snippet."""

    text = serializers.CharField()
    marked = serializers.BooleanField(help_text="Whether it is a word that was searched.")


class HitSerializer(serializers.Serializer[Hit]):
    """Something that was found. One of `task` (a number), `doc` and `conversation` (ids) says where."""

    kind = serializers.ChoiceField(choices=SearchKind.choices)
    id = serializers.UUIDField(source="object_id")
    title = serializers.CharField()
    snippet = PieceSerializer(many=True)
    task = serializers.SerializerMethodField()
    key = serializers.SerializerMethodField(help_text="Of a task, such as `PACA-42`.")
    doc = serializers.SerializerMethodField()
    conversation = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="The page that shows it.")
    updated_at = serializers.DateTimeField()

    def get_task(self, hit: Hit) -> int | None:
        return int(hit.place) if hit.about == SearchKind.TASK else None

    def get_key(self, hit: Hit) -> str | None:
        return f"{self.context['project'].prefix}-{hit.place}" if self.get_task(hit) else None

    def get_doc(self, hit: Hit) -> str | None:
        return hit.place if hit.about == SearchKind.DOC else None

    def get_conversation(self, hit: Hit) -> str | None:
        return hit.place if hit.about == SearchKind.CONVERSATION else None

    def get_url(self, hit: Hit) -> str:
        project_id = self.context["project"].pk
        comment_id = hit.object_id if hit.kind == SearchKind.COMMENT else None
        if hit.about == SearchKind.CONVERSATION:
            return page_addresses.of_conversation(project_id, hit.place)
        of_place = page_addresses.of_task if hit.about == SearchKind.TASK else page_addresses.of_doc
        return of_place(project_id, hit.place, comment_id=comment_id)


class SearchQuery(QuerySerializer):
    """The query of a search."""

    q = serializers.CharField(
        allow_blank=True, trim_whitespace=False, help_text="Words, or the key or number of a task."
    )
    kinds = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="`task`, `doc`, `comment`, `conversation`, with commas between; all by default.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=MAX_HITS, default=20)

    def validate_kinds(self, given: str) -> list[str]:
        """The kinds of the query. Raises ``ValidationError`` if there is no such kind."""
        kinds = [kind.strip() for kind in given.split(",") if kind.strip()]
        if unknown := [kind for kind in kinds if kind not in SearchKind.values]:
            known = ", ".join(SearchKind.values)
            raise serializers.ValidationError(f"{', '.join(unknown)}: use {known}.")
        return kinds
