"""Serializers of comments and docs."""

from rest_framework import serializers

from paca.common.api.serializers import InputSerializer, QuerySerializer
from paca.projects.api.task_serializers import MemberSummarySerializer
from paca.projects.models import (
    Comment,
    CommentVersion,
    Doc,
    DocFolder,
    DocVersion,
    Mention,
)
from paca.projects.models.comment import MAX_COMMENT_CHARACTERS
from paca.projects.models.doc import MAX_DOC_CHARACTERS

# Places of docs and folders; JSON may also say Infinity.
LARGEST_POSITION = 1e12


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
