"""Personas that the members of a project have written."""

from __future__ import annotations

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from paca.agents.models.choices import AgentCategory
from paca.common.models import BaseModel
from paca.projects.models import Project

MAX_PERSONA_CHARACTERS = 20_000


class Persona(BaseModel):
    """How agents of a project present themselves and talk. A change reaches every agent that has it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="personas")
    name = models.CharField(max_length=100)
    category = models.CharField(
        max_length=20, choices=AgentCategory.choices, default=AgentCategory.CUSTOM
    )
    text = models.TextField(validators=[MaxLengthValidator(MAX_PERSONA_CHARACTERS)])

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                "project",
                Lower("name"),
                name="persona_name_is_unique_in_its_project",
                violation_error_message="The project has a persona of this name.",
            ),
            models.CheckConstraint(
                name="persona_has_name_and_text", condition=~Q(name="") & ~Q(text="")
            ),
            models.CheckConstraint(
                name="persona_category_is_known", condition=Q(category__in=AgentCategory.values)
            ),
        ]

    def __str__(self) -> str:
        return self.name
