"""Exports of a conversation: whole, readable, safely named, and streamed."""

import json
import tracemalloc
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import AsyncClient
from django.utils import timezone

from paca import events
from paca.common.frames import StoredEvent
from paca.conversations import export, store, transcript
from paca.conversations.api.serializers import ConversationSerializer
from paca.conversations.markdown_escaping import escape_markdown
from tests.conversations.chat import CALL, Chat, bash_call, download

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


def conversation_with_work(chat: Chat) -> str:
    """A conversation with a thought, a command and an answer of the agent."""
    started = chat.start("How many **files** are there?")["conversation"]
    chat.run_turn(
        started,
        events.ThoughtRecorded(text="I should count them."),
        *bash_call("ls | wc -l", "3\n"),
        events.MessageSpoken(text="There are `3` files.", model="demo/guide", demo=True),
    )
    return str(started)


def stored(type_: str, payload: dict[str, Any]) -> StoredEvent:
    return StoredEvent(1, type_, "agent", 1, timezone.now(), json.dumps(payload))


def markdown(chat: Chat, conversation: str) -> str:
    answer = chat.api.get(chat.url(conversation, "export/?format=markdown"))
    return download(answer).decode()


def test_json_export_has_the_whole_log(chat):
    started = conversation_with_work(chat)
    answer = chat.api.get(chat.url(started, "export/"))
    body = download(answer)
    exported = json.loads(body)
    assert exported["events"] == chat.api.get(chat.url(started, "events/")).json()["results"]
    assert exported["conversation"] == chat.api.get(chat.url(started)).json()
    assert int(answer["Content-Length"]) == len(body)
    assert answer["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("form", "kind", "ending"),
    [("json", "application/json", "json"), ("markdown", "text/markdown; charset=utf-8", "md")],
)
def test_export_is_a_file_that_no_browser_shows(chat, form, kind, ending):
    started = conversation_with_work(chat)
    answer = chat.api.get(chat.url(started, f"export/?format={form}"))
    assert download(answer)
    assert answer["Content-Type"] == kind
    assert answer["X-Content-Type-Options"] == "nosniff"
    day = chat.row(started).created_at.strftime("%Y-%m-%d")
    name = f"how-many-files-are-there-{day}.{ending}"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'


NAMES = [
    ("../../etc/passwd", "etcpasswd"),
    ('a"; filename="evil.exe', "a-filenameevilexe"),
    ("a\r\nSet-Cookie: x", "a-set-cookie-x"),
    ("Grüße 日本", "grüße-日本"),
    ("\u202eexe.txt", "exetxt"),
    ("<img src=x onerror=alert(1)>", "img-srcx-onerroralert1"),
    ("???", "conversation"),
    ("x" * 200, "x" * 60),
    ("CON", "con"),
]


def test_file_name_has_letters_digits_and_dashes_only(chat):
    row = chat.row(chat.start()["conversation"])
    for row.title, name in NAMES:
        exported = export.to_json(row, {})
        exported.file.close()
        assert exported.name == f"{name}-{row.created_at:%Y-%m-%d}.json"


def test_export_works_with_the_accept_header_of_a_browser(chat):
    started = conversation_with_work(chat)
    path = chat.url(started, "export/?format=markdown")
    assert download(chat.api.get(path, Accept="text/html,application/xhtml+xml"))


def test_markdown_has_messages_as_headings_and_work_in_folded_blocks(chat):
    text = markdown(chat, conversation_with_work(chat))
    assert text.startswith("# How many files are there?\n")
    assert "- Agent: Rosa (@rosa)\n" in text
    assert "- Status: finished (answered)\n" in text
    order = [
        f"## {chat.world.owner.name}, ",
        "How many **files** are there?",
        "<details><summary>Thought</summary>\n\nI should count them.\n\n</details>",
        "<details><summary>bash: ls | wc -l (done, exit code 0, 0.2 s)</summary>",
        "```text\nls | wc -l\n```",
        "```text\n3\n```",
        "## Rosa (demo), ",
        "There are `3` files.",
    ]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_markdown_says_how_a_conversation_failed(chat):
    started = chat.start()["conversation"]
    lease = chat.start_turn(
        started,
        events.ModelRetried(call_id=CALL, attempt=1, wait_seconds=1, cause="overloaded"),
        events.ToolCalled(call_id=CALL, tool="bash", arguments={}, subject="sleep 9"),
        events.LimitReached(which="step_limit", limit=5),
    )
    store.append(
        lease.conversation_id,
        events.TurnFinished(number=1, status="failed", reason="configuration"),
        events.ConversationFailed(
            code="configuration", message="The key is wrong.", next_step="Set another one."
        ),
        lease=lease,
    )
    text = markdown(chat, started)
    assert "*Model call failed and was tried again: overloaded*" in text
    assert "*Limit reached: step limit*" in text
    assert "*Failed: The key is wrong. Set another one.*" in text
    assert "<summary>bash: sleep 9 (no result yet)</summary>" in text


ENDINGS = [
    ({"failed": True, "cause": "timed_out", "exit_code": None}, "timed out"),
    ({"failed": True, "exit_code": 2}, "failed, exit code 2"),
    ({"exit_code": 0, "truncated": True}, "done, exit code 0, output cut"),
]


def test_markdown_says_how_a_tool_call_ended(chat):
    started = chat.start()["conversation"]
    call, _ = bash_call("make", "")
    outcomes = [events.ToolReturned(call_id=CALL, output="", **facts) for facts, _ in ENDINGS]
    row = chat.row(started)
    for outcome, (_, result) in zip(outcomes, ENDINGS, strict=True):
        log = [stored(event.type, event.payload()) for event in (call, outcome)]
        text = "".join(transcript.markdown(row, log))
        assert f"<summary>bash: make ({result})</summary>" in text


XSS = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_markdown_shows_markup_in_names_subjects_and_output_as_text(chat):
    chat.world.user.name = XSS
    chat.world.user.save()
    started = chat.start(f"See {XSS}\n<!-- and the rest")["conversation"]
    chat.run_turn(started, *bash_call(XSS, f"{XSS}\n```\n</details>{XSS}\n"))
    text = markdown(chat, started)
    outside, fence = [], ""
    for line in text.splitlines():
        if not fence and line.startswith("```"):
            fence = line.rstrip("abcdefghijklmnopqrstuvwxyz")
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line.replace("\\<", ""))
    tags = {"<details>", "<summary>", "</summary>", "</details>"}
    for line in outside:
        for tag in tags:
            line = line.replace(tag, "")
        assert "<" not in line, line


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a < b", "a < b"),
        ("a <b> c", "a &lt;b> c"),
        ("`<b>` and <b>", "`<b>` and &lt;b>"),
        ("``a ` <b>`` <b>", "``a ` <b>`` &lt;b>"),
        (r"\`<b>`", r"\`&lt;b>`"),
        ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n&lt;b>"),
        ("~~~\n<b>\n```\n~~~\n<b>", "~~~\n<b>\n```\n~~~\n&lt;b>"),
        ("```\n<b>", "```\n<b>\n```"),
        ("````\n```\n<b>", "````\n```\n<b>\n````"),
        ("```\n    ```\n<b>", "```\n    ```\n<b>\n```"),
        ("<!-- x", "&lt;!-- x"),
    ],
)
def test_export_escapes_tags_outside_code_and_closes_every_fence(written, shown):
    assert escape_markdown(written) == shown


def test_markdown_shows_one_argument_as_text_and_several_as_json(chat):
    row = chat.row(chat.start()["conversation"])
    for arguments, shown in (
        ({"command": 'echo "a"\nls'}, '```text\necho "a"\nls\n```'),
        ({"path": "a", "first": 3}, '```json\n{\n  "path": "a",\n  "first": 3\n}\n```'),
        ({"count": 3}, '```json\n{\n  "count": 3\n}\n```'),
    ):
        call = events.ToolCalled(call_id=CALL, tool="x", arguments=arguments)
        text = "".join(transcript.markdown(row, [stored(call.type, call.payload())]))
        assert f"(no result yet)</summary>\n\n{shown}\n\n</details>" in text


def test_markdown_puts_output_with_fences_into_a_longer_fence(chat):
    started = chat.start()["conversation"]
    chat.run_turn(started, *bash_call("cat README.md", "````\ncode\n````"))
    assert "`````text\n````\ncode\n````\n`````\n" in markdown(chat, started)


def test_markdown_omits_events_of_an_unknown_type(chat):
    row = chat.row(chat.start()["conversation"])
    store.append(row.pk, events.MessageReceived(text="after"))
    row.refresh_from_db()
    log = [stored("agent.future.happened", {"a": 1}), stored("agent.tool.called", {})]
    assert len(list(transcript.markdown(row, log))) == len(list(transcript.markdown(row, [])))


def test_export_ends_at_the_last_seq_of_the_conversation_row(chat):
    """Events that are stored meanwhile would contradict the conversation object of the file."""
    row = chat.row(chat.start()["conversation"])
    store.append(row.pk, events.MessageReceived(text="later"))
    with export.to_json(row, ConversationSerializer(row).data).file as file:
        exported = json.loads(file.read())
    assert exported["conversation"]["last_seq"] == 3
    assert [frame["seq"] for frame in exported["events"]] == [1, 2, 3]


def test_export_of_a_long_log_is_whole_and_closes_its_file(chat):
    row = chat.row(chat.start()["conversation"])
    store.append(row.pk, *[events.MessageSpoken(text="u" * 50_000)] * 25)
    answer = chat.api.get(chat.url(row.pk, "export/"))
    assert answer.streaming
    body = download(answer)
    assert len(json.loads(body)["events"]) == 28
    assert int(answer["Content-Length"]) == len(body)


def test_export_of_a_long_log_takes_little_memory(chat):
    row = chat.row(chat.start()["conversation"])
    for _ in range(10):
        store.append(row.pk, *[events.MessageSpoken(text="v" * 4_000) for _ in range(200)])
    row.refresh_from_db()
    tracemalloc.start()
    try:
        exported = export.to_json(row, {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    exported.file.close()
    assert exported.size > 8_000_000
    assert peak < 5_000_000, peak


@pytest.mark.anyio
@pytest.mark.django_db(transaction=True)
async def test_export_is_streamed_in_pieces_by_the_async_server(anyio_backend):
    from asgiref.sync import sync_to_async

    def prepare() -> tuple[str, object]:
        chat = Chat()
        started = chat.start()["conversation"]
        store.append(chat.row(started).pk, *[events.MessageSpoken(text="u" * 50_000)] * 25)
        return f"/api/v1{chat.url(started, 'export/')}", chat.world.user

    def leave() -> None:
        connection.close()  # of this thread, which outlives the test

    path, user = await sync_to_async(prepare)()
    client = AsyncClient()
    await client.aforce_login(user)
    answer = await client.get(path)
    pieces = [piece async for piece in answer.streaming_content]
    assert answer.streaming
    assert len(pieces) > 15
    assert max(len(piece) for piece in pieces) <= 64 * 1024
    assert json.loads(b"".join(pieces))["conversation"]["last_seq"] == 28
    await sync_to_async(leave)()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("![a plan](https://x.example/a.png)", "[a plan](https://x.example/a.png)"),
        ("![a\nplan](https://x.example/a.png)", "[a\nplan](https://x.example/a.png)"),
        ("![a][b]\n\n[b]: https://x.example/a.png", "[a][b]\n\n[b]: https://x.example/a.png"),
        (
            "[![CI](https://x.example/a.svg)](https://y.example/)",
            "[[CI](https://x.example/a.svg)](https://y.example/)",
        ),
        ("Write `![a](b)` for an image", "Write `![a](b)` for an image"),
        ("```\n![a](b)\n```", "```\n![a](b)\n```"),
        # A viewer pairs the marks of code over the lines of a paragraph.
        ("a ` b\n`![c](d)`", "a ` b\n`! [c](d)`"),
        ("a ` b\n`<img src=d>`", "a ` b\n`< img src=d>`"),
        ("a ` b\n- c ![d](e) ` f", "a ` b\n- c [d](e) ` f"),
        ("\\\\`a` ![c](d) `", "\\\\`a` ! [c](d) `"),
        ("\\\\![c](d)", "\\\\[c](d)"),
        ("!![a](b)", "[a](b)"),
        # Not in the square of its length, which would be hours.
        pytest.param("!" * 1_000_000 + "x", "!" * 1_000_000 + "x", id="a million marks"),
        # What looks like a fence to Python, and to no viewer.
        ("a\u2028~~~\n![b](c)", "a\u2028~~~\n[b](c)"),
        ("~~~\n\t~~~\n~~~\n![b](c)", "~~~\n\t~~~\n~~~\n[b](c)"),
        ("~~~\n\u3000~~~\n~~~\n![b](c)", "~~~\n\u3000~~~\n~~~\n[b](c)"),
        ("a ` b\n\u3000\n`![c](d)`", "a ` b\n\u3000\n`! [c](d)`"),
    ],
)
def test_export_shows_foreign_images_as_links(written, shown):
    assert escape_markdown(written) == shown


def test_export_says_what_is_unknown_of_the_cost_and_counts_cached_tokens():
    chat = Chat()
    started = chat.start()["conversation"]
    untold = events.UsageRecorded(
        call_id=uuid4().hex, model="m", input=None, output=None, cost_usd=None
    )
    lease = chat.start_turn(started, untold)
    url = chat.url(started, "export/?format=markdown")
    text = download(chat.api.get(url)).decode()
    assert "- Tokens: unknown\n- Cost: unknown\n" in text
    told = events.UsageRecorded(
        call_id=uuid4().hex, model="m", input=10, cache_read=90, output=5, cost_usd=0.25
    )
    chat.finish_turn(lease, told)
    text = download(chat.api.get(url)).decode()
    assert (
        "- Tokens: 100 in (90 cached), 5 out\n- Cost: $0.2500 and 1 call of unknown cost\n" in text
    )
