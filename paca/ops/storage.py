"""The keep times of an installation in words, for doctor, the admin's first page and ``remove_old``."""

from paca.conversations import retention, sandbox_queries
from paca.conversations.models import Conversation, FullOutput
from paca.conversations.retention import OldData
from paca.engine.tools.formatting import format_size, pluralize


def describe(old: OldData) -> str:
    """How many conversations one keep time concerns now, and how large that is."""
    if not old.days:
        return f"kept for ever ({old.setting} is 0)"
    size = "" if old.size_bytes is None else f", about {format_size(old.size_bytes)}"
    days = pluralize(old.days, "day")
    return f"of {pluralize(old.conversations, 'conversation')}, unused for more than {days}{size}"


def summary() -> str:
    """What is stored, and what the configured keep times remove next."""
    outputs = FullOutput.objects.count()
    stored = (
        f"{pluralize(Conversation.objects.filter(deleted_at=None).count(), 'conversation')}, "
        f"{pluralize(sandbox_queries.count(), 'sandbox', 'sandboxes')} with files, "
        f"{pluralize(outputs, 'full output')}"
    )
    found = retention.find_old_data(retention.KeepTimes.from_settings())
    limited = [f"{each.kind} {describe(each)}" for each in found if each.days]
    if not limited:
        return f"{stored}; all are kept for ever"
    return f"{stored}; removed within the hour: {'; '.join(limited)}"
