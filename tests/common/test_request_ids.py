"""Log records have the id of their request, also after its end."""

import logging
from collections.abc import Iterator

import pytest
from django.test import AsyncClient

from paca.common.request_ids import RequestIdFilter, current


class RecordingHandler(logging.Handler):
    """Keeps log records, with the filters of the product's own handler."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addFilter(RequestIdFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.ids.append(getattr(record, "request_id", ""))


@pytest.fixture
def log() -> Iterator[RecordingHandler]:
    handler = RecordingHandler()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


@pytest.mark.anyio
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/nothing-here/", "/api/v1/nothing/", "/api/v1/projects/"])
async def test_log_record_of_a_response_has_the_id_of_its_request(log: RecordingHandler, path: str):
    answer = await AsyncClient().get(path)
    assert answer.status_code >= 400
    assert log.ids == [answer.headers["X-Request-ID"]]
    assert current().request_id == ""


def test_log_record_keeps_a_request_id_of_its_own(log: RecordingHandler):
    logging.getLogger("paca.test").warning("before Django", extra={"request_id": "given-1234"})
    logging.getLogger("paca.test").warning("beside any request")
    assert log.ids == ["given-1234", ""]
