"""The page of a person's notifications."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from paca.projects.models import Member
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("projects:read")
def inbox(request: HttpRequest, member: Member) -> HttpResponse:
    """What the person was told in all their projects. The element <paca-inbox> loads it."""
    return render(request, "web/inbox.html", page_context(member, "inbox"))
