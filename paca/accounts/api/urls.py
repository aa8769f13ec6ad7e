"""Addresses below ``/api/v1/``: the person's tokens, and the API's own description."""

from django.urls import path

from paca.accounts.api import docs, tokens

urlpatterns = [
    path("tokens/", tokens.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/", tokens.Token.as_view(), name="token"),
    path("schema/", docs.schema, name="schema"),
    path("docs/", docs.Docs.as_view(url_name="api:schema"), name="docs"),
]
