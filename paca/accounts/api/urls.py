"""URLs below ``/api/v1/``: the person's tokens, the OpenAPI schema and its page."""

from django.urls import path

from paca.accounts.api import docs_views, tokens

urlpatterns = [
    path("tokens/", tokens.TokenList.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/", tokens.TokenDetail.as_view(), name="token"),
    path("schema/", docs_views.schema, name="schema"),
    path("docs/", docs_views.page, name="docs"),
]
