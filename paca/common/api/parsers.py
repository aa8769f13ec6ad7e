"""Parses the body of a request to the API: JSON of a bounded size and depth."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from paca.common.request_body import MAX_BODY_BYTES, BodyTooLarge


class BoundedJSONParser(JSONParser):
    """A JSON parser with limits. Django limits bodies that it reads itself, but REST framework reads
    the stream without Django.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The parsed body. Raises ``BodyTooLarge``, or ``ParseError`` if it is malformed or too deep."""
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
