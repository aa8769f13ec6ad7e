"""The index of full-text search."""

from django.db import models
from django.db.models import Q

from paca.projects.models.project import Project


class SearchKind(models.TextChoices):
    """Kinds of things that people search."""

    TASK = "task"
    DOC = "doc"
    COMMENT = "comment"
    CONVERSATION = "conversation"


class SearchEntry(models.Model):
    """The words of one task, doc, comment or conversation, kept by ``projects/search.py``.

    The database keeps its index of the words itself: FTS5 on SQLite, ``tsvector`` on PostgreSQL.
    ``place`` is the task's number, or the id of the doc or conversation, that a hit opens.
    """

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=20, choices=SearchKind)
    object_id = models.UUIDField()
    place = models.CharField(max_length=50)
    title = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "object_id"], name="search_entry_is_one_a_thing"
            ),
            models.CheckConstraint(
                name="search_kind_is_known", condition=Q(kind__in=SearchKind.values)
            ),
        ]
        indexes = [models.Index(fields=["project", "kind"], name="search_entry_of_project")]

    def __str__(self) -> str:
        return f"{self.kind} {self.title}"
