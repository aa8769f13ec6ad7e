"""The page of a person's notifications."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from paca.projects.models import Member
from paca.web.page_urls import any_conversation_api_url, any_conversation_url
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("projects:read")
def inbox(request: HttpRequest, member: Member) -> HttpResponse:
    """What waits for the person in all their projects, and what they were told. Two elements load it."""
    context = page_context(
        member,
        "inbox",
        conversation_page=any_conversation_url(),
        conversation_api=any_conversation_api_url(),
    )
    return render(request, "web/inbox.html", context)
