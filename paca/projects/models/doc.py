"""Docs of a project, their folders and versions."""

from typing import Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import F, Q

from paca.common.models import BaseModel
from paca.projects.models.member import Member
from paca.projects.models.project import Project

MAX_DOC_CHARACTERS = 500_000


class DocFolder(BaseModel):
    """A folder of docs. Folders can be nested; the services refuse circles."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="doc_folders")
    parent = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="folders"
    )
    name = models.CharField(max_length=100)
    position = models.FloatField(default=0)

    class Meta:
        ordering = ["position", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["parent", "name"],
                name="folder_name_is_unique_in_its_folder",
                violation_error_message="There is a folder of this name here.",
            ),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(parent__isnull=True),
                name="folder_name_is_unique_at_the_top",
                violation_error_message="There is a folder of this name here.",
            ),
            models.CheckConstraint(
                name="folder_is_not_in_itself",
                condition=Q(parent__isnull=True) | ~Q(parent=F("id")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class DocQuerySet(models.QuerySet["Doc"]):
    """Queries of docs."""

    def for_project(self, project: Project) -> Self:
        """The project's docs that are not deleted."""
        return self.filter(project=project, deleted_at__isnull=True)


class Doc(BaseModel):
    """A text in Markdown. ``version`` counts its changes of title or text, from 1."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="docs")
    folder = models.ForeignKey(
        DocFolder, on_delete=models.SET_NULL, null=True, blank=True, related_name="docs"
    )
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True, validators=[MaxLengthValidator(MAX_DOC_CHARACTERS)])
    position = models.FloatField(default=0)
    version = models.PositiveIntegerField(default=1)
    updated_by = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = DocQuerySet.as_manager()

    class Meta:
        ordering = ["position", "title", "id"]
        indexes = [models.Index(fields=["project", "-updated_at"], name="doc_last_changed")]

    def __str__(self) -> str:
        return self.title


class DocVersion(BaseModel):
    """One version of a doc: its title and text as a member saved them."""

    doc = models.ForeignKey(Doc, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    by = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["doc", "number"], name="doc_version_is_numbered_once")
        ]

    def __str__(self) -> str:
        return f"{self.title} {self.number}"
