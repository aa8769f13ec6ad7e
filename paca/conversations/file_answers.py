"""What the API answers about files, made from what the sandbox said. The agent may have taken over the sandbox, so each
answer is checked for its shape and its length.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from paca.conversations.services.files import MISFIT, FilesUnavailable
from paca.sandbox.files.inside.listing import MAX_SCANNED

MAX_ENTRIES, MAX_CHANGES, MAX_LISTED = 10_000, 5_000, 200
MAX_NAME, MAX_PATH, MAX_TEXT = 1_000, 8_192, 2_000_000
KINDS = ("file", "folder", "link", "other")
PREVIEWS = ("text", "image", "binary", "folder")
CHANGES = ("added", "changed", "deleted")
HIGHEST_SIZE = 2**53


class EntrySerializer(serializers.Serializer[Any]):
    """One entry of a folder."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(KINDS)
    size = serializers.IntegerField(help_text="In bytes.")
    modified = serializers.FloatField(help_text="Seconds since 1970.")


class FolderSerializer(serializers.Serializer[Any]):
    """The entries of a folder, folders first."""

    path = serializers.CharField(help_text="Relative to the workspace, without detours.")
    entries = EntrySerializer(many=True)
    total = serializers.IntegerField(
        help_text="How many entries there are; ask for more with offset."
    )
    cut = serializers.BooleanField(help_text="There are more entries than were counted.")
    modified = serializers.FloatField(
        help_text="When a name last came or went, in seconds since 1970: pages with another value show another list."
    )


class FilePreviewSerializer(serializers.Serializer[Any]):
    """A text file with its text, or another file with its kind."""

    path = serializers.CharField()
    kind = serializers.ChoiceField(PREVIEWS)
    type = serializers.CharField(help_text="What a binary file is, such as PDF.")
    media = serializers.CharField(help_text="The media type of an image.")
    size = serializers.IntegerField()
    modified = serializers.FloatField()
    text = serializers.CharField()
    encoding = serializers.CharField(help_text="Empty for UTF-8.")
    cut = serializers.BooleanField(help_text="Whether the file is longer than the text.")


class RepositoryOfChangesSerializer(serializers.Serializer[Any]):
    """A repository in the workspace."""

    path = serializers.CharField()
    branch = serializers.CharField(help_text="The branch that is checked out.")
    base = serializers.CharField(help_text="The commit that its files are compared with.")
    against = serializers.CharField(help_text="start, or the name of the base branch.")
    problem = serializers.CharField(help_text="Why it cannot be compared.")


class ChangeSerializer(serializers.Serializer[Any]):
    """One changed file."""

    path = serializers.CharField()
    change = serializers.ChoiceField(CHANGES)
    size = serializers.IntegerField()
    added = serializers.IntegerField(allow_null=True, help_text="Lines; null if not counted.")
    removed = serializers.IntegerField(allow_null=True)


class ChangesSerializer(serializers.Serializer[Any]):
    """The changed files, by their paths."""

    entries = ChangeSerializer(many=True)
    repositories = RepositoryOfChangesSerializer(many=True)
    collapsed = serializers.ListField(
        child=serializers.CharField(), help_text="Folders that programs fill, which are left out."
    )
    cut = serializers.BooleanField(help_text="There are more changes, or the time was over.")


class DiffSerializer(serializers.Serializer[Any]):
    """The change of one file."""

    path = serializers.CharField()
    change = serializers.ChoiceField(CHANGES)
    size = serializers.IntegerField()
    binary = serializers.BooleanField()
    type = serializers.CharField(help_text="What a binary file is.")
    diff = serializers.CharField(help_text="A unified diff, from its first hunk on.")
    added = serializers.IntegerField(allow_null=True)
    removed = serializers.IntegerField(allow_null=True)
    cut = serializers.BooleanField()
    too_large = serializers.BooleanField()
    problem = serializers.CharField(help_text="Why the earlier file is missing.")


class UploadedSerializer(serializers.Serializer[Any]):
    """A stored file."""

    path = serializers.CharField(help_text="Its path in the workspace.")
    size = serializers.IntegerField()


def folder(found: dict[str, Any]) -> dict[str, Any]:
    """The answer to a list. Raises ``FilesUnavailable`` if it does not fit."""
    entries = _list(found, "entries", MAX_ENTRIES)
    total = _count(found.get("total"))
    # A page has a row for each entry, loaded or not.
    # guard: lists-count-no-more-than-they-look-at
    if total > MAX_SCANNED:
        raise FilesUnavailable(MISFIT)
    return {
        "path": _text(found, "path", MAX_PATH),
        "entries": [_entry(each) for each in entries],
        "total": total,
        "cut": bool(found.get("cut")),
        "modified": _number(found.get("modified", 0)),  # a worker of an older version does not tell
    }


def _entry(value: Any) -> dict[str, Any]:
    if not isinstance(value, list) or len(value) != 4:
        raise FilesUnavailable(MISFIT)
    name, kind, size, modified = value
    if not isinstance(name, str) or kind not in KINDS:
        raise FilesUnavailable(MISFIT)
    return {
        "name": name[:MAX_NAME],
        "kind": kind,
        "size": _count(size),
        "modified": _number(modified),
    }


def preview(found: dict[str, Any]) -> dict[str, Any]:
    """The answer to a preview. Raises ``FilesUnavailable`` if it does not fit."""
    return {
        "path": _text(found, "path", MAX_PATH),
        "kind": _one_of(found, "kind", PREVIEWS),
        "type": _text(found, "type", MAX_NAME),
        "media": _text(found, "media", MAX_NAME),
        "size": _count(found.get("size")),
        "modified": _number(found.get("modified")),
        "text": _text(found, "text", MAX_TEXT),
        "encoding": _text(found, "encoding", MAX_NAME),
        "cut": bool(found.get("cut")),
    }


def changes(found: dict[str, Any]) -> dict[str, Any]:
    """The answer about changes. Raises ``FilesUnavailable`` if it does not fit."""
    return {
        "entries": [_change(each) for each in _list(found, "entries", MAX_CHANGES)],
        "repositories": [_repository(each) for each in _list(found, "repositories", MAX_LISTED)],
        "collapsed": [str(each)[:MAX_PATH] for each in _list(found, "collapsed", MAX_LISTED)],
        "cut": bool(found.get("cut")),
    }


def _change(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FilesUnavailable(MISFIT)
    return {
        "path": _text(value, "path", MAX_PATH),
        "change": _one_of(value, "change", CHANGES),
        "size": _count(value.get("size")),
        "added": _count_or_none(value.get("added")),
        "removed": _count_or_none(value.get("removed")),
    }


def _repository(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FilesUnavailable(MISFIT)
    names = ("path", "branch", "base", "against", "problem")
    return {name: _text(value, name, MAX_NAME) for name in names}


def diff(found: dict[str, Any]) -> dict[str, Any]:
    """The answer to a diff. Raises ``FilesUnavailable`` if it does not fit."""
    return {
        **_change(found),
        "binary": bool(found.get("binary")),
        "type": _text(found, "type", MAX_NAME),
        "diff": _text(found, "diff", MAX_TEXT),
        "cut": bool(found.get("cut")),
        "too_large": bool(found.get("too_large")),
        "problem": _text(found, "problem", MAX_NAME),
    }


def _text(found: dict[str, Any], name: str, at_most: int) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise FilesUnavailable(MISFIT)
    return value[:at_most]


def _one_of(found: dict[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = found.get(name)
    if value not in known:
        raise FilesUnavailable(MISFIT)
    return str(value)


def _list(found: dict[str, Any], name: str, at_most: int) -> list[Any]:
    value = found.get(name)
    if not isinstance(value, list) or len(value) > at_most:
        raise FilesUnavailable(MISFIT)
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < HIGHEST_SIZE:
        raise FilesUnavailable(MISFIT)
    return int(value)


def _count_or_none(value: Any) -> int | None:
    return None if value is None else _count(value)


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= HIGHEST_SIZE:  # NaN is no number
        raise FilesUnavailable(MISFIT)
    return float(value)
