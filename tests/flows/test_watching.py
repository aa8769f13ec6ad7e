"""Viewers of a run over real sockets: they leave, come back, open a second page, and stop it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.engine.llm.demo import scripted_model
from tests.realtime.pages import Page, application, conversation_page, session_headers
from tests.support.flow import Flow, ObservedConversation
from tests.support.live_server import LiveServer, running

pytestmark = pytest.mark.django_db(transaction=True)

STREAMED, SPOKEN = "agent.text.streamed", "agent.message.spoken"


@pytest.fixture
def server(transactional_db) -> Iterator[LiveServer]:
    with running(application()) as live:
        yield live


@pytest.fixture
def flow(transactional_db, tmp_path: Path, monkeypatch) -> Iterator[Flow]:
    """A flow with the demo model, which streams a help text as its answer to unknown prompts."""
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 40)
    with Flow(tmp_path, model=scripted_model.MODEL, base_url="", llm_api_key="") as found:
        yield found


def page_of(
    server: LiveServer, flow: Flow, conversation: ObservedConversation, after: int | str = ""
) -> Page:
    return conversation_page(
        server, conversation.id, session_headers(server, flow.world.user), after
    )


def text_of(page: Page) -> str:
    """The live text as a page puts it together. A gap or a repetition fails the test."""
    text = ""
    for frame in page.frames:
        if frame["type"] == STREAMED:
            assert frame["data"]["offset"] == len(text)
            text += frame["data"]["text"]
    return text


def ended(frame: dict) -> bool:
    return frame["type"] == "agent.conversation.finished"


def test_two_viewers_see_the_same_answer_although_one_comes_late(server, flow):
    conversation = flow.begin("Write me a poem")
    with (
        page_of(server, flow, conversation) as early,
        page_of(server, flow, conversation) as late_by_a_moment,
    ):
        early.until(STREAMED)
        late_by_a_moment.until(STREAMED)
        with page_of(server, flow, conversation) as late:
            late.until(STREAMED)
            assert late.frames[-1]["data"]["offset"] == 0
            pages = (early, late_by_a_moment, late)
            for page in pages:
                page.until(ended, 30)
    for page in pages:
        assert scripted_model.HELP.startswith(text_of(page))
        assert page.seqs == list(range(1, page.seqs[-1] + 1))
        (spoken,) = [frame for frame in page.frames if frame["type"] == SPOKEN]
        assert spoken["data"]["text"] == scripted_model.HELP


def test_page_reloaded_during_an_answer_sees_everything_once(server, flow):
    conversation = flow.begin("Write me a poem")
    seen: list[int] = []
    for _ in range(4):
        with page_of(server, flow, conversation, after=seen[-1] if seen else 0) as page:
            page.until(lambda frame: frame["type"] in {STREAMED, SPOKEN})
            text_of(page)
            seen += page.seqs
    flow.wait_until_idle(conversation)
    with page_of(server, flow, conversation, after=seen[-1]) as page:
        page.until("ready")
        seen += page.seqs
    assert seen == list(range(1, conversation.row.last_seq + 1))
    assert conversation.answers == [scripted_model.HELP]


def test_answer_without_a_viewer_is_stored_and_shown_later(server, flow):
    """T-05: the page is closed a second after the message was sent."""
    conversation = flow.begin("Write me a poem")
    with page_of(server, flow, conversation) as page:
        page.until(STREAMED)
    flow.wait_until_idle(conversation)
    assert conversation.answers == [scripted_model.HELP]
    with page_of(server, flow, conversation) as page:
        page.until("ready")
    assert [frame["data"]["text"] for frame in page.frames if frame["type"] == SPOKEN] == [
        scripted_model.HELP
    ]
    assert page.seqs == list(range(1, conversation.row.last_seq + 1))


def test_socket_alone_is_enough_for_a_whole_conversation(server, flow, monkeypatch):
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 4)
    conversation = flow.begin("Write me a poem")
    with page_of(server, flow, conversation) as page:
        page.until(STREAMED)
        assert page.ask("stop", client_id="1")["type"] == "ack"
        page.until("agent.conversation.stopped", 5)
        monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 0)
        sent = page.ask("message", client_id="2", text="And another one")
        assert sent["turn"] == 2
        page.until(ended, 20)
    assert conversation.status == "finished/answered"
    assert conversation.answers[-1] == scripted_model.HELP
