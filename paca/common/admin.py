"""The base of the admin's pages: saving goes through a service, and its refusals are shown."""

from typing import Any

from django.contrib import messages
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin

from paca.common.errors import Invalid, PacaError


class ServiceAdmin(ModelAdmin):  # type: ignore[misc] # unfold has no types
    """What a service refuses changes nothing and is error_text in the service's words."""

    list_per_page = 50
    compressed_fields = True

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().changeform_view(request, *args, **kwargs)
        except PacaError as error:
            # The service rolled everything back on its way out.
            messages.error(request, error_text(error))
            return HttpResponseRedirect(request.get_full_path())
        return response

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Nothing is deleted from here unless a page says how: history refers to nearly all of it."""
        return False


class ReadOnlyAdmin(ServiceAdmin):
    """To look at only."""

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def error_text(error: PacaError) -> str:
    """An error in one line, with its complaints."""
    if not isinstance(error, Invalid) or not error.fields:
        return error.detail
    return " ".join(f"{name}: {' '.join(texts)}" for name, texts in error.fields.items())
