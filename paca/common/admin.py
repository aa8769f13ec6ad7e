"""The base classes of the admin: saving goes through a service, and the page shows its errors."""

from typing import Any

from django.contrib import messages
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.admin import ModelAdmin

from paca.common.errors import Invalid, PacaError


class ServiceAdmin(ModelAdmin):  # type: ignore[misc] # unfold has no types
    """An admin whose changes are made by services. An error of a service is shown on the page."""

    list_per_page = 50
    compressed_fields = True

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().changeform_view(request, *args, **kwargs)
        except PacaError as error:
            # The service has rolled everything back.
            messages.error(request, error_text(error))
            return HttpResponseRedirect(request.get_full_path())
        return response

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """No: history refers to nearly every row. A subclass that can delete overrides this."""
        return False


class ReadOnlyAdmin(ServiceAdmin):
    """An admin that shows rows and changes none."""

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


def error_text(error: PacaError) -> str:
    """The error and the errors of its fields, in one line."""
    if not isinstance(error, Invalid) or not error.fields:
        return error.detail
    return " ".join(f"{name}: {' '.join(texts)}" for name, texts in error.fields.items())
