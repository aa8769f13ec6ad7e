"""The base of every table: a UUID key and two times."""

import uuid

from django.db import models


class BaseModel(models.Model):
    """UUIDv4 primary key, when the row was made and when it last changed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
