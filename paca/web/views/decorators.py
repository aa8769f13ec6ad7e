"""The door of every page in a project: who is asking, and what they may see."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from paca.common.errors import NotFound
from paca.projects import permissions, selectors

View = Callable[..., HttpResponse]


def project_page(permission: str) -> Callable[[View], View]:
    """A page for members with this right: its function gets the request and the asking member.

    Whoever is no member gets the page of unknown addresses.
    """

    def wrap(page: View) -> View:
        @require_safe
        @login_required
        @wraps(page)
        def view(request: HttpRequest, project: UUID, **names: Any) -> HttpResponse:
            try:
                member = selectors.get_membership(request.user, project)  # type: ignore[arg-type]
                if not permissions.allows(member, permission):
                    raise PermissionDenied(f"It needs the permission {permission}.")
                return page(request, member, **names)
            except NotFound:
                raise Http404 from None

        return view

    return wrap
