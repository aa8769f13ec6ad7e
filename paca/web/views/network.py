"""The page with the hosts that the sandbox of a conversation has reached."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from paca.agents.network import policy_of
from paca.conversations import network_use
from paca.conversations import selectors as conversations
from paca.projects.models import Member
from paca.sandbox.egress.reasons import Reason, sentence
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("conversations:read")
def conversation_network(
    request: HttpRequest, member: Member, conversation_id: UUID
) -> HttpResponse:
    """The hosts of one conversation, the newest first. Raises ``Http404`` if the project has no such conversation."""
    found = conversations.get(member.project, conversation_id)
    sent, received = network_use.transferred(found)
    uses = network_use.newest(found)
    context = page_context(
        member,
        "conversations",
        conversation=found,
        network=policy_of(found.agent, member.project),
        sent=sent,
        received=received,
        uses=[
            (use, sentence(Reason(use.reason), use.host, use.port) if use.reason else "")
            for use in uses
        ],
        stamp=f"{sum(use.connections for use in uses)} {sent} {received}",
    )
    return render(request, "web/network.html", context)
