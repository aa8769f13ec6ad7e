"""Serializers of skills from git: what a repository has, what is taken, and what has changed since."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import serializers

from paca.agents.models.skill import MAX_PATH_CHARACTERS, MAX_REF_CHARACTERS
from paca.agents.services.skills import MAX_SKILLS
from paca.common.api.serializers import InputSerializer
from paca.engine.context.measuring import CHARACTERS_PER_TOKEN
from paca.repositories.models.addresses import MAX_URL_CHARACTERS
from paca.repositories.skill_sources.address import COMMIT
from paca.repositories.skill_sources.looking import Found, UpdateCheck
from paca.repositories.skill_sources.marketplace import Marketplace
from paca.repositories.skill_sources.reading import FoundSkill, text_of

MAX_SHOWN_BYTES = 4 << 20


class CommitField(serializers.RegexField):
    """The full id of a commit."""

    def __init__(self, **options: Any) -> None:
        message = "Write the full id of the commit, 40 small letters and digits."
        super().__init__(COMMIT, error_messages={"invalid": message}, **options)


class SkillSourceInput(InputSerializer):
    """A repository by its HTTPS address, or the address of a page that shows a folder of it."""

    url = serializers.CharField(max_length=MAX_URL_CHARACTERS)
    ref = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_REF_CHARACTERS,
        help_text="A branch, a tag or a full commit. Empty: the default branch.",
    )
    folder = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_PATH_CHARACTERS,
        help_text="Only skills in this folder. Empty: all of the repository.",
    )


class SkillImportInput(SkillSourceInput):
    """The skills to take: the source as it was looked at, the commit that was shown, and their folders."""

    commit = CommitField()
    folders = serializers.ListField(
        child=serializers.CharField(
            allow_blank=True, trim_whitespace=False, max_length=MAX_PATH_CHARACTERS
        ),
        min_length=1,
        max_length=MAX_SKILLS,
        help_text="The folders of the skills, as they were shown. An empty text is the top folder.",
    )


class SkillUpdateInput(InputSerializer):
    """The commit to take."""

    commit = CommitField()


class FoundFileSerializer(serializers.Serializer[Any]):
    """A file of a skill that was found."""

    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    text = serializers.CharField(
        allow_null=True, help_text="Null if it is no text, or too long to be shown."
    )


class FoundSkillSerializer(serializers.Serializer[FoundSkill]):
    """A skill of a repository, whole, as a person reads it before taking it."""

    folder = serializers.CharField()
    name = serializers.CharField(source="document.name")
    description = serializers.CharField(source="document.description")
    content = serializers.CharField(source="document.content")
    triggers = serializers.ListField(child=serializers.CharField(), source="document.triggers")
    files = serializers.SerializerMethodField()
    token_estimate = serializers.SerializerMethodField()
    taken = serializers.SerializerMethodField(
        help_text="Whether the agent has a skill of this name already."
    )
    problem = serializers.CharField(help_text="Why it cannot be taken; empty if it can.")
    warnings = serializers.ListField(child=serializers.CharField())

    def get_files(self, skill: FoundSkill) -> list[dict[str, Any]]:
        # One dictionary for all skills of the answer.
        left = cast("dict[str, Any]", self.context).setdefault("left", [MAX_SHOWN_BYTES])
        rows = []
        for path, data in skill.read.files.items() if skill.read else ():
            text = text_of(data) if len(data) <= left[0] else None
            left[0] -= len(data) if text is not None else 0
            rows.append({"path": path, "size_bytes": len(data), "text": text})
        return list(FoundFileSerializer(rows, many=True).data)

    def get_token_estimate(self, skill: FoundSkill) -> int:
        return len(skill.document.content) // CHARACTERS_PER_TOKEN

    def get_taken(self, skill: FoundSkill) -> bool:
        return skill.document.name in self.context.get("names", ())


class ElsewhereSerializer(serializers.Serializer[Any]):
    """Another repository, as it can be looked at."""

    url = serializers.CharField()
    ref = serializers.CharField()
    folder = serializers.CharField()


class MarketplacePluginSerializer(serializers.Serializer[Any]):
    """A plugin of a marketplace: skills of this repository by their folders, or another repository."""

    name = serializers.CharField()
    description = serializers.CharField()
    folders = serializers.ListField(child=serializers.CharField())
    elsewhere = ElsewhereSerializer(allow_null=True)
    problem = serializers.CharField(help_text="Why nothing of it can be taken; empty if it can.")


class MarketplaceSerializer(serializers.Serializer[Marketplace]):
    """What the ``marketplace.json`` of the repository lists."""

    name = serializers.CharField()
    plugins = MarketplacePluginSerializer(many=True)
    problem = serializers.CharField(help_text="Why it cannot be read; empty if it can.")


class FoundSerializer(serializers.Serializer[Found]):
    """The skills of a repository at a commit. ``left_out``: how many more there are; name a folder to see them."""

    url = serializers.CharField(source="source.url")
    ref = serializers.CharField(source="source.ref")
    folder = serializers.CharField(source="source.folder")
    commit = serializers.CharField()
    skills = FoundSkillSerializer(many=True)
    marketplace = MarketplaceSerializer(allow_null=True)
    left_out = serializers.IntegerField()


class FileChangeSerializer(serializers.Serializer[Any]):
    """A file that differs: ``added``, ``changed`` or ``deleted``."""

    path = serializers.CharField()
    change = serializers.CharField()
    diff = serializers.CharField(
        allow_null=True,
        help_text="As a unified diff; null for what is no text, or too much to compare.",
    )


class UpdateCheckSerializer(serializers.Serializer[UpdateCheck]):
    """The skill at the present commit of its source, and how what the agent has differs from it."""

    commit = serializers.CharField()
    moved = serializers.BooleanField(help_text="Whether the branch or tag is at another commit.")
    changes = FileChangeSerializer(many=True)
    skill = FoundSkillSerializer(source="found")
