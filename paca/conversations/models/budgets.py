"""The locks by which calls of an agent or a project wait for one another before they reserve of a budget."""

from django.db import models


class BudgetLock(models.Model):
    """One row for each agent or project with a budget. It holds nothing; its lock is what counts."""

    owner = models.UUIDField(primary_key=True, editable=False)

    def __str__(self) -> str:
        return f"budget of {self.owner}"
