"""Tasks, their assignees and their dependencies."""

from typing import Self

from django.core.validators import MaxLengthValidator, MaxValueValidator
from django.db import models
from django.db.models import F, Q

from paca.common.models import BaseModel
from paca.projects.models.member import Member
from paca.projects.models.project import Project
from paca.projects.models.sprint import Sprint
from paca.projects.models.task_settings import Label, TaskStatus, TaskType

MAX_DESCRIPTION_CHARACTERS = 100_000


class Priority(models.IntegerChoices):
    """The priority of a task; a higher number is more urgent. The API uses the lower-case names."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    URGENT = 4


class TaskQuerySet(models.QuerySet["Task"]):
    """Queries of tasks."""

    def for_project(self, project: Project) -> Self:
        """The project's tasks that are not deleted."""
        return self.filter(project=project, deleted_at__isnull=True)

    def with_columns(self) -> Self:
        """Loads the rows that the columns of tasks name: project, status, type, parent and sprint."""
        return self.select_related("project", "status", "type", "parent", "sprint")

    def with_details(self) -> Self:
        """Loads all that the API shows of tasks, in a constant number of queries."""
        assignments = TaskAssignee.objects.select_related("member__user", "member__agent")
        blockers = TaskDependency.objects.select_related("blocked_by")
        return (
            self.with_columns()
            .select_related("reporter__user", "reporter__agent")
            .defer("parent__description")
            .prefetch_related(
                models.Prefetch("assignments", assignments),
                models.Prefetch("dependencies", blockers.defer("blocked_by__description")),
                "labels",
            )
        )

    def with_card_details(self) -> Self:
        """Loads all that cards of the board show, for a thousand of them.

        The cards share a few statuses and members. So each of these is loaded once, which costs some
        short queries more than ``with_details``.
        """
        short = Task.objects.only("number", "deleted_at", "project_id")
        return self.defer("description").prefetch_related(
            "project",
            "status",
            "type",
            "sprint",
            "reporter__user",
            "reporter__agent",
            models.Prefetch("parent", short),
            "assignments__member__user",
            "assignments__member__agent",
            "labels",
            models.Prefetch("dependencies__blocked_by", short),
        )

    def open(self) -> Self:
        """Tasks whose status does not mean that they are done."""
        return self.exclude(status__category="done")


class Task(BaseModel):
    """A piece of work. Its number is unique in its project for ever: a deleted task keeps its row.

    ``position`` is its place in its column of the board; a lower one stands higher.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    number = models.PositiveIntegerField(editable=False)
    title = models.CharField(max_length=200)
    description = models.TextField(
        blank=True, validators=[MaxLengthValidator(MAX_DESCRIPTION_CHARACTERS)]
    )
    status = models.ForeignKey(TaskStatus, on_delete=models.PROTECT, related_name="tasks")
    type = models.ForeignKey(TaskType, on_delete=models.PROTECT, related_name="tasks")
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.NONE)
    position = models.FloatField(default=0)
    reporter = models.ForeignKey(
        Member, on_delete=models.PROTECT, null=True, blank=True, related_name="reported_tasks"
    )
    parent = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="subtasks"
    )
    sprint = models.ForeignKey(
        Sprint, on_delete=models.SET_NULL, null=True, blank=True, related_name="tasks"
    )
    story_points = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MaxValueValidator(1000)]
    )
    start_date = models.DateField(null=True, blank=True)
    due_date = models.DateField(null=True, blank=True)
    labels = models.ManyToManyField(Label, related_name="tasks", blank=True)
    assignees = models.ManyToManyField(
        Member, through="TaskAssignee", related_name="assigned_tasks", blank=True
    )
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = TaskQuerySet.as_manager()

    class Meta:
        ordering = ["-number"]
        indexes = [
            models.Index(fields=["project", "status", "position"], name="task_board"),
            models.Index(fields=["project", "-updated_at"], name="task_last_changed"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "number"], name="task_number_is_unique_in_its_project"
            ),
            models.CheckConstraint(
                name="task_priority_is_known", condition=Q(priority__in=Priority.values)
            ),
            models.CheckConstraint(
                name="task_is_not_its_own_parent",
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")),
                violation_error_message="A task cannot be its own parent.",
            ),
            models.CheckConstraint(
                name="task_is_due_after_it_starts",
                condition=Q(start_date__isnull=True)
                | Q(due_date__isnull=True)
                | Q(due_date__gte=F("start_date")),
                violation_error_message="A task is due on or after the day it starts.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.title}"

    @property
    def key(self) -> str:
        """The name that people use for the task, such as ``PACA-42``. It needs the project's row."""
        return f"{self.project.prefix}-{self.number}"


class TaskAssignee(BaseModel):
    """A member that a task is assigned to."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="assignments")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="assignments")

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "member"], name="task_is_assigned_once_to_a_member"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id} to {self.member_id}"


class TaskDependency(BaseModel):
    """``task`` waits for ``blocked_by``: people and agents see it. The services refuse circles."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="dependencies")
    blocked_by = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="blocks")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "blocked_by"], name="dependency_is_named_once"),
            models.CheckConstraint(
                name="task_does_not_block_itself", condition=~Q(task=F("blocked_by"))
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} after {self.blocked_by_id}"
