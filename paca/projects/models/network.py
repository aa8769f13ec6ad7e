"""What the sandboxes of a project's agents may reach at most."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from paca.common.network_policy import MAX_HOSTS, PRESETS, host_problem


class ProjectNetwork(models.TextChoices):
    """The widest network that an agent of the project may have."""

    NONE = "none", "No network"
    RESTRICTED = "restricted", "Listed hosts only"
    OPEN = "open", "All public hosts"


def check_presets(presets: Any) -> None:
    """Raises ``ValidationError`` unless these are names of presets, each once."""
    known = _check_texts(presets)
    if unknown := [name for name in known if name not in PRESETS]:
        raise ValidationError(f"{unknown[0]} is no preset. There are {', '.join(PRESETS)}.")


def check_hosts(hosts: Any) -> None:
    """Raises ``ValidationError`` unless these are names of public hosts, each once."""
    for host in _check_texts(hosts):
        if problem := host_problem(host):
            raise ValidationError(problem)


def _check_texts(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ValidationError("Send a list of texts.")
    if len(values) > MAX_HOSTS:
        raise ValidationError(f"At most {MAX_HOSTS} are possible.")
    if len(set(values)) < len(values):
        raise ValidationError("One stands there twice.")
    return values
