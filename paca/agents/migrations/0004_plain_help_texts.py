"""Help texts and labels of agents in plain words. The database does not change."""

import django.core.validators
from decimal import Decimal
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0003_sandbox_life"),
    ]

    operations = [
        migrations.AlterField(
            model_name="agent",
            name="chat_message_prompt",
            field=models.TextField(
                blank=True,
                help_text="Added to the system prompt in a chat.",
                validators=[django.core.validators.MaxLengthValidator(20000)],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="description",
            field=models.TextField(
                blank=True,
                help_text="What the agent is good for. The agent reads it too.",
                validators=[django.core.validators.MaxLengthValidator(2000)],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="handle",
            field=models.CharField(
                help_text="The name that others type after @.",
                max_length=40,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?\\Z",
                        "Use small letters, digits, - and _ (no - or _ at the beginning, no - at the end).",
                    )
                ],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="limit_concurrent",
            field=models.PositiveSmallIntegerField(
                default=5,
                help_text="The number of conversations it works in at the same time. Others wait.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(10),
                ],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="limit_cost_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="US dollars a conversation may cost. Empty: no limit.",
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="sandbox_life",
            field=models.CharField(
                choices=[
                    ("ephemeral", "Ephemeral: its processes end"),
                    ("persistent", "Persistent: its processes are paused, and end later"),
                ],
                default="ephemeral",
                help_text="Its files are kept until the conversation or its files are deleted.",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="system_prompt",
            field=models.TextField(
                blank=True,
                help_text="Describes who the agent is and how it works.",
                validators=[django.core.validators.MaxLengthValidator(50000)],
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="text_tool_calls",
            field=models.BooleanField(
                default=False,
                help_text="For a model that cannot call tools: it writes its calls as text, and Paca runs them.",
            ),
        ),
    ]
