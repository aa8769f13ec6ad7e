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
    """The words of one task, doc, comment or conversation, kept by ``projects/search_entries.py``.

    The database keeps its index of those words itself: FTS5 on SQLite, ``tsvector`` on PostgreSQL.
    A hit opens the thing that it is ``about``, a task, doc or conversation; ``place`` is its number or
    id. ``title_words`` and ``text_words`` are title and text as the index compares them.
    """

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=20, choices=SearchKind)
    object_id = models.UUIDField()
    about = models.CharField(max_length=20)
    place = models.CharField(max_length=50)
    title = models.CharField(max_length=300, blank=True)
    text = models.TextField(blank=True)
    title_words = models.TextField(blank=True)
    text_words = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "object_id"], name="search_entry_is_one_a_thing"
            ),
            models.CheckConstraint(
                name="search_kind_is_known", condition=Q(kind__in=SearchKind.values)
            ),
            models.CheckConstraint(
                name="search_hit_opens_a_place",
                condition=Q(about__in=[SearchKind.TASK, SearchKind.DOC, SearchKind.CONVERSATION]),
            ),
        ]
        indexes = [
            models.Index(fields=["project", "kind"], name="search_entry_of_project"),
            models.Index(fields=["project", "about", "place"], name="search_entry_of_place"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.title}"
