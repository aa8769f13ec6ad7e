"""Agents are asked to check their work, and read a hint in each turn, if their settings say so."""

from django.core.validators import MaxLengthValidator
from django.db import migrations, models
from django.db.models import Q

CHOICES = [
    ("off", "Never"),
    ("unattended", "Where nobody watches: after an assignment, a mention or a program's call"),
    ("always", "In every turn"),
]


class Migration(migrations.Migration):
    dependencies = [("agents", "0013_keys_are_lent")]

    operations = [
        migrations.AddField(
            "agent",
            "verification",
            models.CharField(
                choices=CHOICES,
                db_default="off",
                default="off",
                help_text="When it is asked to check its work, before a turn ends in which it has changed "
                "something. It costs at least one model call more.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            "agent",
            "verification_prompt",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What it is asked then. Empty: the default.",
                validators=[MaxLengthValidator(2000)],
            ),
        ),
        migrations.AddField(
            "agent",
            "hint",
            models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="A short text that it reads in each turn, behind the newest message. Empty: none.",
                validators=[MaxLengthValidator(1000)],
            ),
        ),
        migrations.AddConstraint(
            "agent",
            models.CheckConstraint(
                condition=Q(verification__in=["off", "unattended", "always"]),
                name="agent_verification_is_known",
            ),
        ),
    ]
