"""The identity of the installation, and fingerprints of the two secrets that its processes share."""

from django.db import models


class Installation(models.Model):
    """The only row of its table. The first process that asks for the identity creates it.

    The row holds no secret. A process compares the two fingerprints with its own secrets; both are blank
    until a web process has started. Sandboxes are labelled with ``identity``, so it never changes.
    """

    only = models.BooleanField(default=True, unique=True, editable=False)
    identity = models.CharField(max_length=40, default="", editable=False)
    secret_key_sign = models.CharField(max_length=64, editable=False)
    encryption_sign = models.TextField(editable=False)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="there_is_one_installation", condition=models.Q(only=True)),
        ]

    def __str__(self) -> str:
        return f"installation of {self.made_at:%Y-%m-%d}"
