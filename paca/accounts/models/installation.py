"""What makes many processes one installation: its identity, and signs of the two secrets they share."""

from django.db import models


class Installation(models.Model):
    """One row, made by whichever process first asks who it is. It holds no secret.

    From the signs a process can tell whether it has the right secrets; they are blank until a web
    process has started. ``identity`` is what sandboxes bear of it, never to be changed.
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
