"""URLs below ``/api/v1/``: the person's tokens, the OpenAPI schema and its page."""

from django.urls import path

from paca.accounts.api import docs, tokens

urlpatterns = [
    path("tokens/", tokens.TokenList.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/", tokens.TokenDetail.as_view(), name="token"),
    path("schema/", docs.schema, name="schema"),
    path("docs/", docs.ApiDocsPage.as_view(url_name="api:schema"), name="docs"),
]
