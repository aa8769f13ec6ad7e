"""What an agent's tool call has written on the project, so that it is written once."""

from django.db import models

from paca.projects.models.project import Project


class KeyedWrite(models.Model):
    """The result of one call of a tool, stored in the transaction of its write.

    A worker that repeats the call after a crash finds the row, gives its ``result`` and writes nothing.
    """

    key = models.CharField(max_length=200, primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    result = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key
