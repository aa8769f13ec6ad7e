"""Whatever is logged of a request names it, also once it is over."""

import logging
from collections.abc import Iterator

import pytest
from django.test import AsyncClient

from paca.common.request_ids import RequestIdFilter, current


class Written(logging.Handler):
    """Keeps what is logged as the product's own handler would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addFilter(RequestIdFilter())

    def emit(self, record: logging.LogRecord) -> None:
        self.ids.append(getattr(record, "request_id", ""))


@pytest.fixture
def written() -> Iterator[Written]:
    handler = Written()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


@pytest.mark.anyio
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/nothing-here/", "/api/v1/nothing/", "/api/v1/projects/"])
async def test_log_record_of_a_response_has_the_id_of_its_request(written: Written, path: str):
    answer = await AsyncClient().get(path)
    assert answer.status_code >= 400
    assert written.ids == [answer.headers["X-Request-ID"]]
    assert current().request_id == ""


def test_log_record_keeps_a_request_id_of_its_own(written: Written):
    logging.getLogger("paca.test").warning("before Django", extra={"request_id": "given-1234"})
    logging.getLogger("paca.test").warning("beside any request")
    assert written.ids == ["given-1234", ""]
