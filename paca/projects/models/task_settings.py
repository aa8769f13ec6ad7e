"""Statuses, types and labels of tasks, which each project defines for itself."""

from django.db import models
from django.db.models import Q

from paca.common.models import BaseModel
from paca.projects.models.project import Project


class StatusCategory(models.TextChoices):
    """The meaning of a status, whatever its project calls it."""

    BACKLOG = "backlog"
    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"


class TaskStatus(BaseModel):
    """A status of tasks: a column of the board. New tasks get the first one by ``position``."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="statuses")
    name = models.CharField(max_length=50)
    category = models.CharField(max_length=20, choices=StatusCategory)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="status_name_is_unique_in_its_project",
                violation_error_message="The project has a status of this name.",
            ),
            models.CheckConstraint(
                name="status_category_is_known", condition=Q(category__in=StatusCategory.values)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TaskType(BaseModel):
    """A type of tasks, such as "Bug". New tasks get the first one by ``position``."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="task_types")
    name = models.CharField(max_length=50)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="task_type_name_is_unique_in_its_project",
                violation_error_message="The project has a task type of this name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Label(BaseModel):
    """A label of tasks. It is made when a task first names it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="labels")
    name = models.CharField(max_length=50)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "name"],
                name="label_name_is_unique_in_its_project",
                violation_error_message="The project has a label of this name.",
            )
        ]

    def __str__(self) -> str:
        return self.name
