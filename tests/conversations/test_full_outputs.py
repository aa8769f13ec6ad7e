"""Full outputs of calls: kept part by part, downloaded whole by those who may read the conversation."""

import os
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError

from paca.conversations import deletion, full_outputs
from paca.conversations.models import Conversation, FullOutput, FullOutputPart
from paca.events import ToolCalled, ToolStarted
from tests.conversations.chat import CALL, Chat, bash_call, download

pytestmark = pytest.mark.django_db
OTHER_CALL = "7d3c1f0a-52a4-4b77-9a3e-3f5a4c1b2d11"
PARTS = (b"first line\n" * 1000, "zweite Zeile: 漢字\n".encode() * 1000, b"\x1b[31mlast\n")


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def conversation(chat) -> str:
    started = chat.start("Print a lot")["conversation"]
    chat.run_turn(started, *bash_call("print", "first … last", truncated=True))
    return str(started)


def keep(call_id: str = CALL, parts: tuple[bytes, ...] = PARTS) -> None:
    """Keep an output as a worker does."""
    full_outputs.begin(UUID(call_id))
    for number, part in enumerate(parts):
        full_outputs.add_part(UUID(call_id), number, part)
    full_outputs.finish(UUID(call_id), size_bytes=sum(map(len, parts)))


def address(chat: Chat, conversation: str, call_id: str = CALL) -> str:
    return chat.url(conversation, f"calls/{call_id}/output/")


def test_full_output_is_downloaded_byte_for_byte(chat, conversation):
    keep()
    answer = chat.api.get(address(chat, conversation))
    assert download(answer) == b"".join(PARTS)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment; ")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-store"
    assert int(answer["Content-Length"]) == sum(map(len, PARTS))


def test_large_full_output_is_streamed(chat, conversation):
    parts = tuple(bytes([65 + n]) * (1 << 20) for n in range(4))
    keep(parts=parts)
    answer = chat.api.get(address(chat, conversation))
    assert answer.streaming
    assert download(answer) == b"".join(parts)


def test_full_output_is_for_readers_of_its_conversation_only(chat, conversation):
    keep()
    other = Chat("Lighthouse")
    theirs = other.start("Hello")["conversation"]
    assert other.api.get(address(chat, conversation)).status_code == 404
    assert other.api.get(address(other, theirs)).status_code == 404
    second = chat.start("Another")["conversation"]
    assert chat.api.get(address(chat, second)).status_code == 404


def test_full_output_is_downloaded_from_a_fork_while_its_origin_is_there():
    chat = Chat()
    origin = chat.start("Print a lot")["conversation"]
    called, returned = bash_call("print", "first … last", truncated=True)
    started = ToolStarted(call_id=UUID(CALL).hex, boot_id="b")
    chat.run_turn(origin, called, started, returned)
    keep()
    before, first = (fork(chat, origin, seq) for seq in (1, chat.row(origin).last_seq))
    second = fork(chat, first, chat.row(first).last_seq)
    for copied in (first, second):
        assert download(chat.api.get(address(chat, copied))) == b"".join(PARTS)
    assert chat.api.get(address(chat, before)).status_code == 404, "the call is not in its log"
    assert chat.api.delete(chat.url(origin)).status_code == 204
    assert chat.api.get(address(chat, second)).status_code == 404


def fork(chat: Chat, conversation: str, seq: int) -> str:
    answer = chat.api.post(chat.url(conversation, "fork/"), {"seq": seq})
    assert answer.status_code == 201, answer.data
    return str(answer.data["id"])


@pytest.mark.parametrize("call_id", [CALL, OTHER_CALL, "nonsense", "..", "%00"])
def test_full_output_that_is_not_kept_is_not_found(chat, conversation, call_id):
    answer = chat.api.get(address(chat, conversation, call_id))
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_full_output_of_a_worker_that_died_is_not_found_until_another_keeps_it(chat, conversation):
    full_outputs.begin(UUID(CALL))
    full_outputs.add_part(UUID(CALL), 0, b"half")
    assert chat.api.get(address(chat, conversation)).status_code == 404
    keep()
    with pytest.raises(IntegrityError):
        full_outputs.add_part(UUID(CALL), 1, b"from the worker that was taken for dead")


def test_full_output_is_shown_whole_after_its_worker_died_and_another_kept_it(chat, conversation):
    full_outputs.begin(UUID(CALL))
    full_outputs.add_part(UUID(CALL), 0, b"half")
    keep()
    assert download(chat.api.get(address(chat, conversation))) == b"".join(PARTS)


def test_oldest_full_outputs_are_dropped_above_the_limit(chat, conversation, settings):
    settings.CONVERSATION_OUTPUT_MIB = 1
    calls = [str(uuid4()) for _ in range(3)]
    called = [ToolCalled(call_id=call, tool="bash", arguments={}, subject="") for call in calls]
    second = str(chat.start_turn(chat.start("More")["conversation"], *called).conversation_id)
    for call in calls:
        keep(call, (os.urandom(600_000),))  # which cannot be compressed
    statuses = [chat.api.get(address(chat, second, call)).status_code for call in calls]
    assert statuses == [404, 404, 200]


def test_full_output_above_the_limit_alone_is_not_kept(conversation, settings):
    settings.CONVERSATION_OUTPUT_MIB = 1
    full_outputs.begin(UUID(CALL))
    full_outputs.add_part(UUID(CALL), 0, os.urandom(1_200_000))
    assert not full_outputs.finish(UUID(CALL), size_bytes=1_200_000)
    assert not FullOutput.objects.exists()


def test_half_of_a_full_output_is_never_shown_as_a_whole(chat, conversation):
    full_outputs.begin(UUID(CALL))
    full_outputs.add_part(UUID(CALL), 0, b"half")
    full_outputs.finish(UUID(CALL), size_bytes=8)  # by a worker that was taken for dead
    assert chat.api.get(address(chat, conversation)).status_code == 404


def test_full_outputs_are_deleted_with_their_conversation(chat, conversation):
    keep()
    deletion.delete(Conversation.objects.get(pk=conversation), by=chat.world.owner)
    assert not FullOutput.objects.exists()
    assert not FullOutputPart.objects.exists()
