"""The base of every model: a UUID primary key and two timestamps."""

import uuid

from django.db import models


class BaseModel(models.Model):
    """A UUIDv4 primary key, the time of creation and the time of the last change."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
