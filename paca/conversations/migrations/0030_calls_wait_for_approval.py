"""Tool calls wait for the decision of a person. A trigger of the database keeps the first decision."""

import uuid

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

STATES = ["open", "approved", "denied", "expired", "superseded"]
SQLITE = """CREATE TRIGGER approval_is_decided_once BEFORE UPDATE OF state
    ON conversations_approval FOR EACH ROW
    WHEN OLD.state <> NEW.state AND OLD.state <> 'open'
    BEGIN SELECT RAISE(ABORT, 'approval_is_decided_once'); END"""
POSTGRESQL = [
    """CREATE FUNCTION approval_is_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF OLD.state <> NEW.state AND OLD.state <> 'open' THEN
                RAISE EXCEPTION USING ERRCODE = 'check_violation',
                    MESSAGE = 'approval_is_decided_once';
            END IF;
            RETURN NEW;
        END $$""",
    """CREATE TRIGGER approval_is_decided_once BEFORE UPDATE OF state ON conversations_approval
        FOR EACH ROW EXECUTE FUNCTION approval_is_decided_once()""",
]


def install(apps, schema_editor):
    sqlite = schema_editor.connection.vendor == "sqlite"
    for statement in [SQLITE] if sqlite else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS approval_is_decided_once")
    else:
        schema_editor.execute("DROP FUNCTION approval_is_decided_once CASCADE")


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0029_calls_hold_budgets"),
        ("projects", "0010_projects_have_budgets"),
    ]

    operations = [
        migrations.AddField(
            "conversation",
            "rest_approved_by",
            models.CharField(blank=True, max_length=200, null=True),
        ),
        migrations.CreateModel(
            "Approval",
            [
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("call_id", models.CharField(editable=False, max_length=64, unique=True)),
                ("turn", models.PositiveIntegerField()),
                ("tool", models.CharField(max_length=100)),
                ("arguments", models.JSONField()),
                ("subject", models.TextField(blank=True)),
                ("rule", models.CharField(max_length=50)),
                ("why", models.TextField(blank=True)),
                ("effect", models.CharField(max_length=20)),
                ("undo", models.TextField(blank=True)),
                ("diff", models.TextField(blank=True)),
                ("deadline", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[(state, state.title()) for state in STATES],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("decided_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True)),
                ("changed_arguments", models.JSONField(null=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        "conversations.conversation",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        "projects.member",
                        on_delete=django.db.models.deletion.SET_NULL,
                        null=True,
                        blank=True,
                        related_name="+",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-id"],
                "indexes": [
                    models.Index(
                        condition=Q(state="open"), fields=["deadline"], name="approval_due"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(state__in=STATES), name="approval_state_is_known"
                    ),
                    models.CheckConstraint(
                        condition=Q(state="open", decided_at=None)
                        | (~Q(state="open") & Q(decided_at__isnull=False)),
                        name="approval_is_open_or_decided",
                    ),
                    models.UniqueConstraint(
                        condition=Q(state="open"),
                        fields=["conversation"],
                        name="conversation_waits_for_one_approval",
                    ),
                ],
            },
        ),
        migrations.RunPython(install, remove),
    ]
