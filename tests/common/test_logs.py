"""Logs: JSON for programs, lines for people, and masked secrets in both."""

import asyncio
import json
import logging
import sys
from typing import Any

import pytest

from paca.common.logs import JsonFormatter, LineFormatter, LogContextFilter, log_context


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("paca.test").makeRecord(
        "paca.test", logging.INFO, __file__, 1, message, args, None, extra=extra
    )


def test_json_formatter_writes_one_object_with_the_fields_of_a_record():
    line = JsonFormatter().format(record("run %s", "finished", conversation="c1", turns=3))
    entry = json.loads(line)
    assert entry.pop("at").endswith("Z")
    assert entry == {
        "level": "info",
        "logger": "paca.test",
        "message": "run finished",
        "conversation": "c1",
        "turns": 3,
    }


@pytest.mark.anyio
async def test_log_context_adds_its_fields_only_inside_its_block():
    said = []

    async def run(name: str) -> None:
        with log_context(conversation=name):
            await asyncio.sleep(0)
            with log_context(turn=2):
                said.append(filtered(record("in the turn", call="c1")))
            said.append(filtered(record("about another", conversation="other")))

    await asyncio.gather(run("one"), run("two"))
    assert [each["conversation"] for each in said] == ["one", "other", "two", "other"]
    assert [each.get("turn") for each in said] == [2, None, 2, None]
    assert said[0]["call"] == "c1"
    assert "conversation" not in filtered(record("beside"))


def filtered(entry: logging.LogRecord) -> dict[str, Any]:
    assert LogContextFilter().filter(entry)
    return json.loads(JsonFormatter().format(entry))


def test_json_formatter_keeps_a_message_with_a_line_break_in_one_line():
    assert JsonFormatter().format(record("a\n{}")).count("\n") == 0


def test_line_formatter_writes_the_same_fields_for_a_person():
    line = LineFormatter().format(record("run finished", turns=3))
    assert line.endswith("info    paca.test: run finished turns=3")


@pytest.mark.parametrize("formatter", [JsonFormatter(), LineFormatter()])
@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer hush-hush-hush",
        "token paca_hush0123456789abcdef",
        "key sk-ant-hush0123456789",
        "GET /ws/conversations/1/?after=3&ticket=hush_hush",
        "GET /link/hush-hush/",
    ],
)
def test_formatters_mask_secrets_in_messages_and_fields(formatter, text):
    assert "hush" not in formatter.format(record(text))
    assert "hush" not in formatter.format(record("seen", header=text))


def test_formatters_keep_a_whole_traceback():
    try:
        raise ValueError("boom")
    except ValueError:
        entry = logging.LogRecord("paca", logging.ERROR, "", 1, "failed", (), sys.exc_info())
    assert "ValueError: boom" in json.loads(JsonFormatter().format(entry))["exception"]
