"""The admin's page of refused entries: why each was refused, and buttons to retry or drop it."""

import re
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from paca.accounts.models import User
from paca.common.errors import PacaError
from paca.conversations import refused_entries

PER_PAGE = 50
ENTRY_ID = re.compile(r"\d{1,19}-\d{1,19}")
# What a button does, the permission that it needs, and what is said afterwards.
COMMANDS: dict[str, tuple[Callable[..., None], str, str]] = {
    "retry": (
        refused_entries.retry,
        "conversations.change_trigger",
        "{} given to the workers again. An entry that is refused again comes back to this list.",
    ),
    "drop": (refused_entries.drop, "conversations.delete_trigger", "{} dropped."),
}


def respond(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show the refused entries, or retry or drop the selected ones. The caller has checked that the
    person may see triggers.

    Raises ``PermissionDenied`` if the person may not do what the button does.
    """
    if request.method == "POST":
        _carry_out(request)
        return HttpResponseRedirect(request.get_full_path())
    before = request.GET.get("before", "")
    shown, total, is_known = [], 0, True
    try:
        shown = refused_entries.newest(PER_PAGE, before=before if _is_id(before) else "")
        total = refused_entries.count()
    except PacaError as error:
        messages.error(request, error.detail)
        is_known = False
    context |= {
        "title": "Refused entries of other programs",
        "entries": shown,
        "total": total,
        "is_known": is_known,
        "oldest": shown[-1].id if len(shown) == PER_PAGE else "",
        "may": {name: request.user.has_perm(needed) for name, (_, needed, _) in COMMANDS.items()},
    }
    return TemplateResponse(request, "admin/refused_entries.html", context)


def _carry_out(request: HttpRequest) -> None:
    if (command := request.POST.get("command", "")) not in COMMANDS:
        messages.error(request, "Choose retry or drop.")
        return
    act, permission, said = COMMANDS[command]
    if not request.user.has_perm(permission):
        raise PermissionDenied
    assert isinstance(request.user, User)
    selected, done = list(filter(_is_id, request.POST.getlist("entry"))), 0
    if not selected:
        messages.error(request, "Select at least one entry.")
    for dead_id in selected:
        try:
            act(dead_id, by=request.user)
            done += 1
        except PacaError as error:
            messages.error(request, error.detail)
    if done:
        messages.success(request, said.format(f"{done} {'entry' if done == 1 else 'entries'}"))


def _is_id(text: str) -> bool:
    return bool(ENTRY_ID.fullmatch(text))
