"""Checks the bus, and what other programs have put on it."""

from django.conf import settings

from paca.common.errors import PacaError
from paca.conversations import refused_entries
from paca.ops import redis_check
from paca.ops.check_result import CheckResult, passed, run_check


def check_bus() -> list[CheckResult]:
    """The bus, and with a Redis that answers the entries that other programs have put there."""
    bus = run_check("Bus", _bus)
    if not settings.REDIS_URL or "does not answer" in bus.meaning:
        return [bus]
    return [bus, run_check("Triggers", _refused_entries)]


def _bus() -> CheckResult:
    if not settings.REDIS_URL:
        return passed("Bus", "in memory: one process")
    if fault := redis_check.find_fault():
        return CheckResult(
            "Bus",
            "broken",
            f"Redis {fault.meaning}: text is not streamed, and answers appear up to 2 s late",
            fault.next_step,
        )
    if risks := redis_check.find_risks():
        meanings, next_steps = zip(*risks, strict=True)
        return CheckResult(
            "Bus", "todo", f"Redis answers, but {'; '.join(meanings)}", "; ".join(next_steps)
        )
    return passed("Bus", "Redis answers and accepts entries")


def _refused_entries() -> CheckResult:
    """Entries of other programs that no worker could take."""
    try:
        latest = refused_entries.newest(1)
        count = refused_entries.count()
    except PacaError:
        return CheckResult("Triggers", "todo", "not known: Redis does not tell", "repair the bus")
    if not latest:
        return passed("Triggers", "no entry of another program is refused")
    return CheckResult(
        "Triggers",
        "todo",
        f"{count} entr{'y' if count == 1 else 'ies'} of other programs refused; the newest: "
        f"{latest[0].reason or 'without a reason'}",
        "read the reasons, and retry or drop them: Admin, Triggers, Refused entries "
        "(/admin/conversations/trigger/refused/)",
    )
