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


@pytest.mark.parametrize("formatter", [JsonFormatter(), LineFormatter()])
@pytest.mark.parametrize("character", list("\x1b\x9b\x7f\r\n\u2028\u202e\ud800"), ids=ascii)
def test_formatters_escape_control_characters_in_messages_fields_and_errors(formatter, character):
    sent = f"bob{character}12:00:00 info paca: forged"
    try:
        raise ValueError(sent)
    except ValueError:
        entry = record("sign-in of %s failed", sent, username=sent)
        entry.exc_info = sys.exc_info()
    text = formatter.format(entry)
    assert character not in text.replace("\n  ", "")
    assert text.count("forged") == 3
    assert all(line.startswith("  ") for line in text.split("\n")[1:])
    text.encode()


def test_line_formatter_quotes_a_value_that_looks_like_two_fields():
    line = LineFormatter().format(record("failed", username="bob request_id=1"))
    assert line.endswith('username="bob request_id=1"')


@pytest.mark.parametrize("formatter", [JsonFormatter(), LineFormatter()])
def test_formatters_shorten_a_long_message_and_a_long_field(formatter):
    line = formatter.format(record("x" * 60_000, path="y" * 60_000))
    assert len(line) < 10_000
    assert "(56000 more)" in line


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
