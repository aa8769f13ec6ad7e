"""What strangers can make a process log: a bounded number of lines, and no errors."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from paca.common.log_limits import MAX_LINES, WINDOW_SECONDS, ClientErrorFilter, LimitedHandler
from paca.common.logs import JsonFormatter
from tests.support.fake_clock import FakeClock


@pytest.fixture
def moved() -> Iterator[FakeClock]:
    with FakeClock() as fake:
        yield fake


@pytest.fixture
def handler() -> Iterator[LimitedHandler]:
    found = LimitedHandler()
    found.setStream(io.StringIO())
    found.setFormatter(JsonFormatter())
    found.addFilter(ClientErrorFilter())
    yield found
    found.close()


def lines(handler: LimitedHandler) -> list[dict]:
    return [json.loads(line) for line in handler.stream.getvalue().splitlines()]


def said(logger: str, message: str = "Not Found", **fields: object) -> logging.LogRecord:
    found = logging.LogRecord(logger, logging.ERROR, "", 1, message, (), None)
    vars(found).update(fields)
    return found


def test_lines_of_strangers_are_limited_and_their_number_is_told(handler, moved):
    for number in range(10_000):
        handler.handle(said("django.request", f"Not Found: /{number}"))
    assert len(lines(handler)) == MAX_LINES
    moved.advance(WINDOW_SECONDS)
    handler.handle(said("django.request", "Not Found: /last"))
    summary, last = lines(handler)[MAX_LINES:]
    assert summary["message"] == f"{10_000 - MAX_LINES} more such lines within 10 s"
    assert summary["logger"] == "django.request"
    assert last["message"] == "Not Found: /last"


def test_number_of_left_out_lines_is_told_though_nothing_else_is_logged(handler):
    for _ in range(MAX_LINES + 3):
        handler.handle(said("uvicorn.error"))
    handler.close()
    assert lines(handler)[-1]["message"].startswith("3 more such lines")


def test_lines_of_a_worker_are_not_limited(handler):
    for _ in range(5 * MAX_LINES):
        handler.handle(said("paca.worker.turns", "run finished"))
    assert len(lines(handler)) == 5 * MAX_LINES


def test_health_check_that_says_not_ready_is_not_logged(handler):
    handler.handle(said("django.request", request=SimpleNamespace(path="/readyz"), status_code=503))
    handler.handle(said("django.request", request=SimpleNamespace(path="/tasks"), status_code=503))
    assert len(lines(handler)) == 1


def test_error_of_a_client_is_a_warning_without_a_traceback(handler):
    error = ValueError("bad host")
    entry = said("django.security.DisallowedHost", status_code=400)
    entry.exc_info = (ValueError, error, None)
    handler.handle(entry)
    (line,) = lines(handler)
    assert line["level"] == "warning"
    assert "exception" not in line


def test_flood_of_one_line_hides_no_other_line_of_its_logger(handler):
    for number in range(10 * MAX_LINES):
        handler.handle(said("django.request", f"Not Found: /{number}"))
    other = said("django.request", "Internal Server Error: /tasks")
    other.lineno = 2
    handler.handle(other)
    assert lines(handler)[-1]["message"] == "Internal Server Error: /tasks"


def test_flood_of_one_error_hides_no_other_error_of_its_place(handler):
    for _ in range(10 * MAX_LINES):
        handler.handle(failed(lambda: [][0]))
    handler.handle(failed(lambda: {}["missing"]))
    assert "KeyError" in lines(handler)[-1]["exception"]


def failed(act: Callable[[], object]) -> logging.LogRecord:
    """A record of the error that the call raises."""
    record = said("django.request", "Internal Server Error")
    try:
        act()
    except LookupError:
        record.exc_info = sys.exc_info()
    return record
