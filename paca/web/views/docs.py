"""The page of a project's docs."""

import json
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from paca.projects import permissions, selectors
from paca.projects.models import Doc, Member
from paca.web import page_urls
from paca.web.selectors import members_of
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("docs:read")
def docs(request: HttpRequest, member: Member, doc_id: UUID | None = None) -> HttpResponse:
    """The tree of docs, and one of them if the address names it. The element <paca-docs> renders both.

    Raises ``Http404`` if the project has no such doc.
    """
    project = member.project
    if doc_id is not None and not Doc.objects.for_project(project).filter(pk=doc_id).exists():
        raise Http404
    may_write = permissions.allows(member, "docs:write")
    page = {
        "me": selectors.describe_member(member),
        "members": [selectors.describe_member(each) for each in members_of(project)],
        "mayWrite": may_write,
        "mayComment": may_write,
        "doc": str(doc_id) if doc_id else "",
        "urls": page_urls.doc_urls(project),
    }
    context = page_context(
        member, "docs", page=page, page_json=json.dumps(page), may_write_docs=may_write
    )
    return render(request, "web/docs.html", context)
