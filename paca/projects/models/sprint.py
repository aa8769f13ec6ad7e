"""Sprints: periods for which a project plans tasks."""

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import F, Q

from paca.common.models import BaseModel
from paca.projects.models.project import Project


class SprintStatus(models.TextChoices):
    """A sprint is planned, then active, then completed; several may be active."""

    PLANNED = "planned"
    ACTIVE = "active"
    COMPLETED = "completed"


class Sprint(BaseModel):
    """A period with a goal. Its tasks that are open at its end go to another sprint or to none."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="sprints")
    name = models.CharField(max_length=100)
    goal = models.TextField(blank=True, validators=[MaxLengthValidator(10_000)])
    status = models.CharField(max_length=10, choices=SprintStatus, default=SprintStatus.PLANNED)
    start_date = models.DateField(null=True, blank=True)
    end_date = models.DateField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="sprint_name_is_unique_in_its_project",
                violation_error_message="The project has a sprint of this name.",
            ),
            models.CheckConstraint(
                name="sprint_status_is_known", condition=Q(status__in=SprintStatus.values)
            ),
            models.CheckConstraint(
                name="sprint_ends_after_it_starts",
                condition=Q(start_date__isnull=True)
                | Q(end_date__isnull=True)
                | Q(end_date__gte=F("start_date")),
                violation_error_message="A sprint ends on or after the day it starts.",
            ),
            models.CheckConstraint(
                name="completed_sprint_has_its_time",
                condition=Q(status="completed", completed_at__isnull=False)
                | (~Q(status="completed") & Q(completed_at__isnull=True)),
            ),
        ]

    def __str__(self) -> str:
        return self.name
