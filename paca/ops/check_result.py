"""What a check of one part of an installation finds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.db import DatabaseError

from paca.common.errors import ConfigurationError

State = Literal["ok", "todo", "broken"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The state of one part. ``todo`` is a recommendation; only ``broken`` stops Paca from working."""

    part: str
    state: State
    meaning: str
    next_step: str = ""


def run_check(part: str, check: Callable[[], CheckResult]) -> CheckResult:
    """The result of ``check``. An error that has a next step becomes a broken part."""
    try:
        return check()
    except ConfigurationError as error:
        return CheckResult(part, "broken", error.detail, str(error.facts.get("next_step", "")))
    except DatabaseError:
        return CheckResult(
            part, "broken", "the database does not answer", "repair the database first"
        )


def passed(part: str, meaning: str) -> CheckResult:
    """The result of a part that is as it should be."""
    return CheckResult(part, "ok", meaning)
