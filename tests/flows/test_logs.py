"""Log entries of a run: JSON, with conversation, turn and call, and without secrets."""

import json
import logging

import pytest

from paca.common.logs import JsonFormatter, LogContextFilter
from tests.support.flow import wait_until
from tests.support.model_script import says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


class RecordingHandler(logging.Handler):
    """Keeps each line as the handler of the product would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.addFilter(LogContextFilter())
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def entries(self, message: str) -> list[dict]:
        read = map(json.loads, self.lines)
        return [entry for entry in read if entry["message"] == message]


@pytest.fixture
def log():
    handler = RecordingHandler()
    logging.getLogger("paca").addHandler(handler)
    yield handler
    logging.getLogger("paca").removeHandler(handler)


def test_log_entries_of_a_run_name_conversation_turn_and_call(flow, log):
    conversation = flow.ask("[[fake err=529@0x1 retry=0.1]]")
    flow.ask("And now?", [says("Done.")], after=conversation)
    (retried,) = log.entries("model call is retried")
    assert retried["conversation"] == str(conversation.id)
    assert retried["turn"] == 1
    assert retried["call"] == conversation.event_data("model.retried")[0]["call_id"]
    # A worker writes this entry after the commit by which the conversation is idle.
    ended = wait_until(
        lambda: entries if len(entries := log.entries("turn ended")) > 1 else None,
        describe=lambda: "\n".join(log.lines),
    )
    assert [entry["turn"] for entry in ended] == [1, 2]
    assert {entry["conversation"] for entry in ended} == {str(conversation.id)}
    assert {entry["status"] for entry in ended} == {"finished"}
    assert "sk-test-1234" not in "".join(log.lines)
