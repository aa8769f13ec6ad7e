"""The page to which a sign-in service sends people back. It shows nothing itself, but leads to the agent's settings."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from paca.accounts.models import User
from paca.agents import mcp_sign_in
from paca.agents.services import mcp_grants
from paca.common.errors import NotAllowed, NotFound, PacaError
from paca.projects import permissions, selectors

PERMISSION = "agents:write"


@require_GET
@login_required
@never_cache
def finish(request: HttpRequest) -> HttpResponse:
    """End the sign-in that this person has begun in this session. The address works once.

    A service answers by a GET, as the protocol says; ``state``, which only this session knows, is what guards it.
    """
    user = request.user
    assert isinstance(user, User)
    answer = {name: value for name, value in request.GET.items() if isinstance(value, str)}
    try:
        server, begun, url = mcp_grants.take_sign_in(
            state=answer.get("state", ""),
            user=user,
            session_key=request.session.session_key or "",
        )
    except PacaError as error:
        return render(request, "web/mcp_sign_in.html", {"error": error.detail}, status=error.status)
    agent = server.agent
    try:
        _check_permission(user, agent.project_id)
        mcp_sign_in.finish(answer, server=server, begun=begun, url=url, user=user)
    except NotFound as error:
        return render(request, "web/mcp_sign_in.html", {"error": error.detail}, status=404)
    except PacaError as error:
        messages.error(request, f"{server.name}: {error.detail}")
    else:
        messages.success(request, f"You are signed in to {server.name}. Test it to see its tools.")
    settings = reverse("agent_settings", args=[agent.project_id, agent.pk])
    return HttpResponseRedirect(f"{settings}#mcp-servers")


def _check_permission(user: User, project_id: UUID) -> None:
    """Raises ``NotFound`` for people who are no members any more, and ``NotAllowed`` without the permission."""
    member = selectors.get_membership(user, project_id)
    # guard: oauth-ends-with-the-permission
    if not permissions.allows(member, PERMISSION):
        raise NotAllowed
