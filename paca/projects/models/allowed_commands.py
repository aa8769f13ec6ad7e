"""The column of a list of allowed commands, which projects and agents have."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from paca.engine.approvals.allowed_commands import MAX_COMMANDS, pattern_problem

ALLOWED_COMMANDS_HELP = (
    "The only commands that may run: each a program, perhaps with words that its arguments begin with, such as git or "
    "npm run *. All that a command line starts has to match, and a line that cannot be read for certain is refused. "
    "Null: all commands. An interpreter in the list allows what it runs."
)


def check_commands(given: Any) -> None:
    """Raises ``ValidationError`` unless this is a list of commands that can be allowed, each once."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValidationError("Send a list of texts, or null for all commands.")
    if len(given) > MAX_COMMANDS:
        raise ValidationError(f"At most {MAX_COMMANDS} commands are possible.")
    if len(set(given)) < len(given):
        raise ValidationError("One stands there twice.")
    for each in given:
        if problem := pattern_problem(each):
            raise ValidationError(problem)


def allowed_commands_field(of: str) -> "models.JSONField[list[str] | None, list[str] | None]":
    """A list of allowed commands, or null for all; ``of`` says of which agents."""
    return models.JSONField(
        null=True,
        blank=True,
        default=None,
        validators=[check_commands],
        help_text=f"The only commands that {of} may run, such as git or npm run *. Null: all.",
    )
