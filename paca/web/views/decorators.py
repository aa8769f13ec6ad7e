"""The decorator that checks sign-in, membership and permission for the pages of a project."""

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
    """A page for members with this permission. The view gets the request and the member.

    Raises ``Http404`` for people who are no members, and ``PermissionDenied`` for members without
    the permission.
    """

    def decorate(page: View) -> View:
        @require_safe
        @login_required
        @wraps(page)
        def view(request: HttpRequest, project: UUID, **names: Any) -> HttpResponse:
            try:
                member = selectors.get_membership(request.user, project)  # type: ignore[arg-type]
                if not permissions.allows(member, permission):
                    raise PermissionDenied(f"This page needs the permission {permission}.")
                return page(request, member, **names)
            except NotFound:
                raise Http404 from None

        return view

    return decorate
