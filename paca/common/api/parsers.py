"""Reads the body of a request to the API: JSON, of a bounded size and depth."""

from collections.abc import Mapping
from http import HTTPStatus
from io import BytesIO
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from paca.common.errors import PacaError

MOST_BYTES = 1 << 20


class BodyTooLarge(PacaError):
    """The body of a request may have 1 MiB at most."""

    code = "body_too_large"
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BoundedJSONParser(JSONParser):
    """Django limits bodies that it reads itself; REST framework reads the stream past it."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        body = stream.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise BodyTooLarge
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
