"""Serializers of comments, docs, notifications and search."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from paca.common.api.serializers import InputSerializer
from paca.projects import notification_lists, page_addresses
from paca.projects.api.task_serializers import MemberSummarySerializer
from paca.projects.models import (
    Comment,
    CommentVersion,
    Doc,
    DocFolder,
    DocVersion,
    Mention,
    Notification,
    SearchKind,
)
from paca.projects.models.comment import MAX_COMMENT_CHARACTERS
from paca.projects.models.doc import MAX_DOC_CHARACTERS
from paca.projects.search import MAX_HITS, Hit

# Places of docs and folders; JSON may also say Infinity.
LARGEST_POSITION = 1e12


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


# --- comments -----------------------------------------------------------------------------------


class MentionSerializer(serializers.ModelSerializer[Mention]):
    """A member that a comment mentions."""

    handle = serializers.CharField(source="member.handle")

    class Meta:
        model = Mention
        fields = ("handle", "member_id")


class CommentVersionSerializer(serializers.ModelSerializer[CommentVersion]):
    """The text of a comment before an edit."""

    class Meta:
        model = CommentVersion
        fields = ("number", "text", "created_at")


class CommentSerializer(serializers.ModelSerializer[Comment]):
    """A comment in Markdown. One that is deleted and has answers is shown without its text."""

    author = MemberSummarySerializer()
    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment] # shadows DRF's own
    mentions = MentionSerializer(many=True)
    versions = CommentVersionSerializer(many=True)
    deleted = serializers.SerializerMethodField()

    class Meta:
        model = Comment
        fields = (
            "id",
            "author",
            "text",
            "parent",
            "mentions",
            "conversation_id",
            "edited_at",
            "versions",
            "deleted",
            "created_at",
            "updated_at",
        )

    def get_deleted(self, comment: Comment) -> bool:
        return comment.deleted_at is not None


class CommentInput(InputSerializer):
    """The input to write a comment."""

    text = serializers.CharField(max_length=MAX_COMMENT_CHARACTERS)
    parent = serializers.UUIDField(  # type: ignore[assignment] # shadows DRF's own
        required=False, allow_null=True, help_text="The comment that this one answers."
    )


class CommentTextInput(InputSerializer):
    """The input to edit a comment."""

    text = serializers.CharField(max_length=MAX_COMMENT_CHARACTERS)


# --- docs ---------------------------------------------------------------------------------------


class DocSerializer(serializers.ModelSerializer[Doc]):
    """A doc in Markdown."""

    folder = serializers.UUIDField(source="folder_id", allow_null=True)
    updated_by = MemberSummarySerializer()

    class Meta:
        model = Doc
        fields: tuple[str, ...] = (
            "id",
            "title",
            "text",
            "folder",
            "position",
            "version",
            "updated_by",
            "created_at",
            "updated_at",
        )


class DocSummarySerializer(DocSerializer):
    """A doc without its text."""

    class Meta(DocSerializer.Meta):
        fields = tuple(name for name in DocSerializer.Meta.fields if name != "text")


class DocInput(InputSerializer):
    """The input to make or change a doc."""

    title = serializers.CharField(max_length=200)
    text = serializers.CharField(
        max_length=MAX_DOC_CHARACTERS, required=False, allow_blank=True, trim_whitespace=False
    )
    folder = serializers.UUIDField(required=False, allow_null=True)
    position = serializers.FloatField(
        min_value=-LARGEST_POSITION, max_value=LARGEST_POSITION, required=False
    )


class DocQuery(QuerySerializer):
    """The query of the list of docs."""

    folder = serializers.CharField(
        required=False, help_text="The id of a folder, or `none` for docs that are in no folder."
    )
    deleted = serializers.BooleanField(default=False, help_text="Only deleted docs.")
    text = serializers.BooleanField(default=True, help_text="`false` leaves their texts out.")


class DocVersionSerializer(serializers.ModelSerializer[DocVersion]):
    """A version of a doc."""

    by = MemberSummarySerializer()

    class Meta:
        model = DocVersion
        fields: tuple[str, ...] = ("number", "title", "text", "by", "created_at")


class DocVersionSummarySerializer(DocVersionSerializer):
    """A version of a doc without its text."""

    class Meta(DocVersionSerializer.Meta):
        fields = ("number", "title", "by", "created_at")


class DocFolderSerializer(serializers.ModelSerializer[DocFolder]):
    """A folder of docs."""

    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment] # shadows DRF's own

    class Meta:
        model = DocFolder
        fields = ("id", "name", "parent", "position", "created_at", "updated_at")


class DocFolderInput(InputSerializer):
    """The input to make or change a folder."""

    name = serializers.CharField(max_length=100)
    parent = serializers.UUIDField(required=False, allow_null=True)  # type: ignore[assignment] # shadows DRF's own
    position = serializers.FloatField(
        min_value=-LARGEST_POSITION, max_value=LARGEST_POSITION, required=False
    )


# --- notifications ------------------------------------------------------------------------------


class NotificationProjectSerializer(serializers.Serializer[Any]):
    """The project that a notification comes from."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    """A notification. The context may have ``titles``: those of conversations, by their ids."""

    project = NotificationProjectSerializer()
    actor = MemberSummarySerializer(allow_null=True)
    subject = serializers.SerializerMethodField(
        help_text="What it is about, such as `PACA-4 Paint`."
    )
    url = serializers.SerializerMethodField(help_text="The page that shows it.")
    at = serializers.DateTimeField(source="created_at")

    class Meta:
        model = Notification
        fields = ("id", "kind", "project", "actor", "subject", "url", "read_at", "at")

    def get_subject(self, notification: Notification) -> str:
        if notification.task is not None:
            return f"{notification.project.prefix}-{notification.task.number} {notification.task.title}"
        if notification.doc is not None:
            return notification.doc.title
        titles = self.context.get("titles", {})
        return str(titles.get(notification.conversation_id, "A conversation"))

    def get_url(self, notification: Notification) -> str:
        return notification_lists.address_of(notification)


class NotificationPageSerializer(serializers.Serializer[Any]):
    """A page of notifications, and how many the person has not read."""

    results = NotificationSerializer(many=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    unread = serializers.IntegerField()


class NotificationQuery(QuerySerializer):
    """The query of the list of notifications."""

    unread = serializers.BooleanField(default=False, help_text="Only those that are not read.")


class UnreadSerializer(serializers.Serializer[Any]):
    """How many notifications are left unread."""

    unread = serializers.IntegerField()


# --- search -------------------------------------------------------------------------------------


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
