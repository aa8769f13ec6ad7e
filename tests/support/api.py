"""A client of the REST API for tests: ``Api(user).get("/projects/")`` is below ``/api/v1``."""

import json
from typing import Any

from django.http import HttpResponse
from rest_framework.test import APIClient

from paca.accounts.models import User
from paca.accounts.services import tokens


class Api:
    """Sends requests as a signed-in person, with a token, or anonymously. ``data`` is the JSON."""

    def __init__(self, user: User | None = None, *, token: str = "", **options: Any) -> None:
        self.client = APIClient(**options)
        if token:
            self.client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        elif user is not None:
            self.client.force_login(user)

    @classmethod
    def by_token(cls, user: User, *scopes: str) -> "Api":
        """A client with a new token of the person, limited to these scopes."""
        return cls(token=tokens.create(user, name="test", scopes=list(scopes), by=user)[1])

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a request to any path. The names of ``headers`` have underscores for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if not path.startswith("/api/"):  # a page: the body is a form
            ask = getattr(self.client, method.lower())
            page: HttpResponse = ask(path, body or {}, format="multipart", headers=named)
            return page
        # Not the client's own encoder: it refuses NaN and surrogates, which tests must be able to send.
        content = "" if body is None else json.dumps(body)
        response: HttpResponse = self.client.generic(
            method, path, content, content_type="application/json", headers=named
        )
        return response

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.send(method, f"/api/v1{path}", body, **headers)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.ask("get", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.ask("post", path, {} if body is None else body, **headers)

    def patch(self, path: str, body: Any, **headers: str) -> HttpResponse:
        return self.ask("patch", path, body, **headers)

    def delete(self, path: str) -> HttpResponse:
        return self.ask("delete", path)
