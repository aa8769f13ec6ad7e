"""The door of every page in a project: who is asking, and what they may see."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from paca.common.errors import NotFound
from paca.projects import permissions, selectors
from paca.projects.models import Member

P = ParamSpec("P")
Page = Callable[Concatenate[HttpRequest, Member, P], HttpResponse]


def project_page(right: str) -> Callable[[Page[P]], Callable[..., HttpResponse]]:
    """A page for members with this right. Whoever is no member gets the page of unknown addresses."""

    def wrap(page: Page[P]) -> Callable[..., HttpResponse]:
        @require_safe
        @login_required
        @wraps(page)
        def view(request: HttpRequest, project: UUID, **names: Any) -> HttpResponse:
            try:
                member = selectors.member_of(request.user, project)  # type: ignore[arg-type]
                if not permissions.allows(member, right):
                    raise PermissionDenied(f"It needs the right {right}.")
                return page(request, member, **names)
            except NotFound:
                raise Http404 from None

        return view

    return wrap
