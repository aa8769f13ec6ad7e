"""The URL configuration: the URLs of each app, and the handlers of errors."""

from django.contrib import admin
from django.urls import include, path, register_converter
from django.urls.converters import StringConverter

from paca.common.api.errors import unknown_address
from paca.common.lean_imports import load_without
from paca.conversations import git_webhooks
from paca.mcp_server.gate import Gate
from paca.ops import health, metrics


class AnyTextConverter(StringConverter):
    """Any text in an address. Django's ``path`` leaves out line breaks."""

    regex = r"[\s\S]+"


register_converter(AnyTextConverter, "any_text")
# No model has a field of PostgreSQL's own; with SQLite their driver would take 8 MB in each process.
load_without("unfold.overrides", "django.contrib.postgres.fields")
admin.autodiscover()

api = [
    path("", include("paca.accounts.api.urls")),
    path("", include("paca.projects.api.urls")),
    path("", include("paca.agents.api.urls")),
    path("", include("paca.repositories.api.urls")),
    path("", include("paca.conversations.api.urls")),
    path("", include("paca.realtime.api.urls")),
]

urlpatterns = [
    path("healthz", health.liveness, name="healthz"),
    path("readyz", health.readiness, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("api/v1/", include((api, "api"))),
    path("api/", unknown_address),
    path("api/<any_text:rest>", unknown_address),
    path("mcp/", Gate.as_view(), name="mcp"),
    path("webhooks/git/<uuid:repository_id>/", git_webhooks.receive, name="git_webhook"),
    path("accounts/", include("paca.accounts.urls")),
    path("admin/", admin.site.urls),
    path("", include("paca.web.urls")),
]

handler400 = "paca.web.views.errors.bad_request"
handler403 = "paca.web.views.errors.forbidden"
handler404 = "paca.web.views.errors.not_found"
handler500 = "paca.web.views.errors.server_error"
