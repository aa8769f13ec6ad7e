"""Serializers of skills, and of the templates of skills and agents."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from paca.agents.models import Skill, SkillFile
from paca.common.api.serializers import InputSerializer


class SkillFileSerializer(serializers.ModelSerializer[SkillFile]):
    """A file of a skill, without its data."""

    class Meta:
        model = SkillFile
        fields = ("path", "size_bytes")


class SkillOriginSerializer(serializers.ModelSerializer[Skill]):
    """Where in git a skill was read. It stays at ``commit`` until a person takes another one."""

    url = serializers.CharField(source="git_url")
    ref = serializers.CharField(
        source="git_ref", help_text="The branch, tag or commit; empty for the default branch."
    )
    folder = serializers.CharField(source="git_folder")
    commit = serializers.CharField(source="git_commit")

    class Meta:
        model = Skill
        fields = ("url", "ref", "folder", "commit")


class SkillSerializer(serializers.ModelSerializer[Skill]):
    """A skill. ``token_estimate`` is for its text, at four characters a token."""

    triggers = serializers.ListField(child=serializers.CharField())
    files = SkillFileSerializer(many=True)
    token_estimate = serializers.IntegerField(read_only=True)
    git = serializers.SerializerMethodField()

    class Meta:
        model = Skill
        fields = (
            "id",
            "name",
            "source",
            "git",
            "description",
            "content",
            "triggers",
            "files",
            "always_on",
            "enabled",
            "token_estimate",
            "created_at",
            "updated_at",
        )

    @extend_schema_field(SkillOriginSerializer(allow_null=True))
    def get_git(self, skill: Skill) -> dict[str, str] | None:
        return dict(SkillOriginSerializer(skill).data) if skill.git_commit else None


class SkillChanges(InputSerializer):
    """The fields of a skill that can be changed. The service checks lengths and uniqueness."""

    description = serializers.CharField(required=False)
    content = serializers.CharField(required=False, trim_whitespace=False)
    triggers = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Keywords. A message with one of them opens the skill, as /name does.",
    )
    always_on = serializers.BooleanField(
        required=False, help_text="Its text is in every prompt; it need not be opened."
    )
    enabled = serializers.BooleanField(required=False)


class SkillInput(SkillChanges):
    """A new skill: a ``template``, or name, description and content. The name cannot be changed later."""

    template = serializers.CharField(
        required=False, help_text="The name of a skill template. No other field is given with it."
    )
    name = serializers.CharField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "template" in attrs:
            other = sorted(name for name in attrs if name != "template")
            if other:
                error = ["A template brings this along; change it afterwards."]
                raise serializers.ValidationError(dict.fromkeys(other, error))
            return attrs
        missing = [name for name in ("name", "description", "content") if name not in attrs]
        if missing:
            raise serializers.ValidationError(dict.fromkeys(missing, ["This field is required."]))
        return attrs


class SkillUploadInput(InputSerializer):
    """The upload of a skill, as ``multipart/form-data``."""

    file = serializers.FileField(
        help_text="A SKILL.md, or a zip of a folder with a SKILL.md and further files."
    )


class SkillTemplateSerializer(serializers.Serializer[Any]):
    """A built-in skill."""

    slug = serializers.CharField(source="name")
    name = serializers.CharField()
    description = serializers.CharField()
    content = serializers.CharField()
    triggers = serializers.ListField(child=serializers.CharField())


class PresetSerializer(serializers.Serializer[Any]):
    """A system prompt to start from."""

    slug = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    system_prompt = serializers.CharField(allow_blank=True)


class AgentTypeSerializer(PresetSerializer):
    """A type of agents to start from: its prompt, and its skills by the slugs of their templates."""

    category = serializers.CharField(help_text="What a new agent of this type is sorted into.")
    skills = serializers.ListField(child=serializers.CharField())
