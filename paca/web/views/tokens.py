"""The page of a person's API tokens, which also shows how to connect an editor."""

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from paca.accounts.models import ApiToken

# What the tools of the MCP server need.
EDITOR_SCOPES = (
    "projects:read members:read tasks:* docs:* agents:read conversations:read conversations:write"
)
MAX_SHOWN = 200


@require_safe
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """The tokens of the signed-in person, a form for a new one, and the settings of an editor."""
    person: Any = request.user
    address = request.build_absolute_uri(reverse("mcp"))
    server = {
        "type": "http",
        "url": address,
        "headers": {"Authorization": "Bearer paca_YOUR_TOKEN"},
    }
    context = {
        "tokens": list(ApiToken.objects.owned_by(person)[:MAX_SHOWN]),
        "address": address,
        "editor_settings": json.dumps({"mcpServers": {"paca": server}}, indent=2),
        "editor_scopes": EDITOR_SCOPES,
    }
    return render(request, "web/tokens.html", context)
