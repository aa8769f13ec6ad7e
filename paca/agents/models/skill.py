"""Skills of agents: texts on how to do one kind of work, with files for the sandbox."""

from __future__ import annotations

from typing import Any, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models import Q

from paca.agents.models.agent import Agent
from paca.common.models import BaseModel
from paca.engine.context.measuring import CHARACTERS_PER_TOKEN
from paca.projects.models import Project

MAX_NAME_CHARACTERS, MAX_DESCRIPTION_CHARACTERS, MAX_CONTENT_CHARACTERS = 64, 1024, 60_000
MAX_TRIGGERS, MAX_TRIGGER_CHARACTERS, MAX_PATH_CHARACTERS = 20, 50, 200
MAX_URL_CHARACTERS, MAX_REF_CHARACTERS = 500, 200
# A message that begins with one of these words and a slash must not load a skill.
RESERVED_NAMES = frozenset(
    {"paca", "skill", "skills", "clear", "continue", "help", "interrupt", "pause", "resume", "stop"}
)
RESERVED_PREFIX = "paca-"

name_validator = RegexValidator(
    r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z", "Use small letters, digits and single - between them."
)


def check_not_reserved(name: str) -> None:
    """Raises ``ValidationError`` if Paca keeps the name for itself."""
    if name in RESERVED_NAMES or name.startswith(RESERVED_PREFIX):
        raise ValidationError("Paca keeps this name for itself; choose another one.")


def check_triggers(triggers: Any) -> None:
    """Raises ``ValidationError`` if the triggers are not a list of a few short keywords."""
    if not isinstance(triggers, list) or len(triggers) > MAX_TRIGGERS:
        raise ValidationError(f"Write a list of at most {MAX_TRIGGERS} keywords.")
    for keyword in triggers:
        if not isinstance(keyword, str) or not any(each.isalnum() for each in keyword):
            raise ValidationError("A keyword is a text with a letter or a digit.")
        if len(keyword) > MAX_TRIGGER_CHARACTERS or not keyword.isprintable():
            raise ValidationError(
                f"A keyword has at most {MAX_TRIGGER_CHARACTERS} printable characters."
            )


class SkillSource(models.TextChoices):
    """Where the text of a skill came from."""

    INLINE = "inline", "Written here"
    TEMPLATE = "template", "From a template"
    UPLOAD = "upload", "Uploaded"
    GIT = "git", "From git"


class SkillQuerySet(models.QuerySet["Skill"]):
    """Queries of skills."""

    def enabled(self) -> Self:
        """The skills that the agent may use."""
        return self.filter(enabled=True)

    def for_project(self, project: Project) -> Self:
        """The skills of the project's agents that are not retired."""
        return self.filter(agent__project=project, agent__deleted_at__isnull=True)


class Skill(BaseModel):
    """A text that tells an agent how to do one kind of work.

    The prompt of the agent names it. The agent opens it when it is needed, and a message with one of its
    ``triggers`` or with ``/name`` opens it at once. With ``always_on`` its text is in every prompt.
    """

    Source = SkillSource

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="skills")
    name = models.CharField(
        max_length=MAX_NAME_CHARACTERS, validators=[name_validator, check_not_reserved]
    )
    source = models.CharField(max_length=10, choices=SkillSource, default=SkillSource.INLINE)
    description = models.TextField(
        validators=[MaxLengthValidator(MAX_DESCRIPTION_CHARACTERS)],
        help_text="What it is for and when to use it. The agent chooses by this text.",
    )
    content = models.TextField(
        validators=[MaxLengthValidator(MAX_CONTENT_CHARACTERS)],
        help_text="Markdown. The agent reads it when it opens the skill.",
    )
    triggers = models.JSONField(
        default=list,
        blank=True,
        validators=[check_triggers],
        help_text="Keywords. A message with one of them opens the skill, as /name does.",
    )
    always_on = models.BooleanField(
        default=False, help_text="Its text is in every prompt; it need not be opened."
    )
    enabled = models.BooleanField(default=True)
    git_url = models.CharField(max_length=MAX_URL_CHARACTERS, blank=True, db_default="", default="")
    git_ref = models.CharField(
        max_length=MAX_REF_CHARACTERS,
        blank=True,
        db_default="",
        default="",
        help_text="The branch, tag or commit it was read from; empty for the default branch.",
    )
    git_folder = models.CharField(
        max_length=MAX_PATH_CHARACTERS, blank=True, db_default="", default=""
    )
    git_commit = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        default="",
        help_text="The commit it was read from. It changes only when a person takes another one.",
    )

    objects = SkillQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "name"],
                name="skill_name_is_unique_for_its_agent",
                violation_error_message="The agent has a skill of this name.",
            ),
            models.CheckConstraint(
                name="skill_has_name_description_and_content",
                condition=~Q(name="") & ~Q(description="") & ~Q(content=""),
            ),
            models.CheckConstraint(
                name="skill_source_is_known", condition=Q(source__in=SkillSource.values)
            ),
            models.CheckConstraint(
                name="skill_from_git_names_its_commit",
                condition=Q(source=SkillSource.GIT, git_url__gt="", git_commit__gt="")
                | (~Q(source=SkillSource.GIT) & Q(git_url="", git_commit="")),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def token_estimate(self) -> int:
        """What its text takes of a request that has it, at four characters a token."""
        return len(self.content) // CHARACTERS_PER_TOKEN


class SkillFile(models.Model):
    """A file of an uploaded skill. ``path`` is relative to the skill's folder, with ``/``."""

    id = models.BigAutoField(primary_key=True)
    skill = models.ForeignKey(Skill, on_delete=models.CASCADE, related_name="files", db_index=False)
    path = models.CharField(max_length=MAX_PATH_CHARACTERS)
    data = models.BinaryField()
    size_bytes = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(
                fields=["skill", "path"], name="skill_file_path_is_unique_in_its_skill"
            )
        ]

    def __str__(self) -> str:
        return self.path
