"""Files attached to tasks. They are stored in the database, so that every web server has them."""

from django.db import models

from paca.common.models import BaseModel
from paca.projects.models.member import Member
from paca.projects.models.task import Task


class Attachment(BaseModel):
    """A file of a task. ``content_type`` is what the uploader said; downloads never render it."""

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attachments")
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    size_bytes = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    by = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.name


class AttachmentPart(models.Model):
    """One part of a file's bytes; ``number`` counts from 0."""

    id = models.BigAutoField(primary_key=True)
    attachment = models.ForeignKey(
        Attachment, on_delete=models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["attachment", "number"], name="attachment_part_number_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.attachment_id} {self.number}"
