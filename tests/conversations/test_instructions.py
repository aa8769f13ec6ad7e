"""Write with AI and execute: instructions to agents outside a chat, and the suggestion of a description."""

from typing import Any

import pytest

from paca.agents import services as agents
from paca.conversations import deletion, services
from paca.conversations.models import Conversation, Suggestion
from paca.conversations.services import suggestions
from paca.projects.models import Task
from paca.projects.services import tasks
from tests.conversations.team import Team

pytestmark = pytest.mark.django_db


class Desk:
    """A team, and the addresses of its task and agent."""

    def __init__(self) -> None:
        self.team = Team()
        project = f"/projects/{self.team.world.project.pk}/"
        self.task_url = f"{project}tasks/{self.team.task.number}/"
        self.execute_url = f"{project}agents/{self.team.world.agent.pk}/execute/"
        self.conversations_url = f"{project}conversations/"

    def post(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
        return self.team.api.post(path, body or {}, **headers)

    def write(self, **body: Any) -> Conversation:
        """Write with AI. Gives the conversation."""
        body = {"agent_id": str(self.team.world.agent.pk), **body}
        answer = self.post(f"{self.task_url}write-with-ai/", body)
        assert answer.status_code == 201, answer.data
        return Conversation.objects.get(pk=answer.data["conversation"]["id"])

    @property
    def description(self) -> str:
        return Task.objects.get(pk=self.team.task.pk).description


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- write with AI --------------------------------------------------------------------------------


def test_write_with_ai_asks_the_agent_in_a_conversation_of_its_own(desk):
    desk.team.assign()
    started = desk.write(instruction="With acceptance criteria.")
    assert (started.trigger_type, started.status) == ("description_write", "queued")
    assert started.task == desk.team.task
    assert started.title == "Description of HARB-1 Fix the login"
    assert Conversation.objects.count() == 2
    (message,) = [
        frame["data"]["text"]
        for frame in desk.team.api.get(f"{desk.conversations_url}{started.pk}/events/").json()[
            "results"
        ]
        if frame["type"] == "agent.message.received"
    ]
    assert "asks you to write the description of HARB-1" in message
    assert "With acceptance criteria." in message
    assert "It fails with umlauts." in message
    assert desk.team.timeline.count("agent.session.started") == 2


def test_answer_becomes_a_suggestion_and_changes_nothing(desk):
    assert desk.team.api.get(f"{desk.task_url}suggestion/").status_code == 404
    started = desk.write()
    desk.team.run_turn("Names with umlauts cannot sign in.")
    shown = desk.team.api.get(f"{desk.task_url}suggestion/").data
    assert (shown["text"], shown["state"]) == ("Names with umlauts cannot sign in.", "open")
    assert (shown["conversation"], shown["agent"]["handle"]) == (str(started.pk), "rosa")
    assert desk.description == "It fails with umlauts."
    assert desk.team.said == []


def test_suggestion_that_is_kept_becomes_the_description(desk):
    desk.write()
    desk.team.run_turn("Better.")
    for _ in range(2):
        kept = desk.post(f"{desk.task_url}suggestion/keep/")
        assert (kept.status_code, kept.data["state"]) == (200, "kept")
    assert desk.description == "Better."
    assert Suggestion.objects.get().decided_by == desk.team.ada
    assert desk.team.timeline.count("task.updated") == 1


def test_suggestion_that_a_person_has_changed_is_kept_as_changed(desk):
    desk.write()
    desk.team.run_turn("Better.")
    desk.post(f"{desk.task_url}suggestion/keep/", {"text": "Best."})
    assert desk.description == "Best."


def test_suggestion_is_not_kept_over_a_change_of_another_person(desk):
    desk.write()
    desk.team.run_turn("Better.")
    before = Task.objects.get(pk=desk.team.task.pk).updated_at.isoformat()
    tasks.change(desk.team.task, by=desk.team.ada, description="By hand.")
    kept = desk.post(f"{desk.task_url}suggestion/keep/", If_Match=before)
    assert kept.status_code == 412
    assert desk.description == "By hand."
    assert Suggestion.objects.get().state == "open"


def test_suggestion_that_is_discarded_leaves_the_description(desk):
    desk.write()
    desk.team.run_turn("Worse.")
    for _ in range(2):
        gone = desk.post(f"{desk.task_url}suggestion/discard/")
        assert (gone.status_code, gone.data["state"]) == (200, "discarded")
    assert desk.description == "It fails with umlauts."


@pytest.mark.parametrize(("first", "second"), [("keep", "discard"), ("discard", "keep")])
def test_suggestion_that_is_decided_cannot_be_decided_otherwise(desk, first, second):
    desk.write()
    desk.team.run_turn("Better.")
    desk.post(f"{desk.task_url}suggestion/{first}/")
    answer = desk.post(f"{desk.task_url}suggestion/{second}/")
    assert (answer.status_code, answer.data["code"]) == (409, "suggestion_decided")


def test_next_answer_of_the_conversation_replaces_the_suggestion_and_opens_it(desk):
    started = desk.write()
    desk.team.run_turn("Long.")
    desk.post(f"{desk.task_url}suggestion/discard/")
    services.send(started, text="Shorter, please", by=desk.team.ada)
    desk.team.run_turn("Short.")
    shown = desk.team.api.get(f"{desk.task_url}suggestion/").data
    assert (shown["text"], shown["state"]) == ("Short.", "open")


@pytest.mark.parametrize("act", ["keep", "discard"])
def test_newer_suggestion_than_the_one_that_a_person_has_seen_is_not_decided(desk, act):
    started = desk.write()
    desk.team.run_turn("Long.")
    seen = desk.team.api.get(f"{desk.task_url}suggestion/").data
    services.send(started, text="Shorter, please", by=desk.team.ada)
    desk.team.run_turn("Short.")
    shown = {"id": seen["id"], "turn": seen["turn"]}
    refused = desk.post(f"{desk.task_url}suggestion/{act}/", shown)
    assert (refused.status_code, refused.data["code"]) == (412, "changed_meanwhile")
    present = refused.data["present"]
    assert (present["text"], present["turn"]) == ("Short.", seen["turn"] + 1)
    assert desk.description == "It fails with umlauts."
    assert Suggestion.objects.get().state == "open"
    shown = {"id": present["id"], "turn": present["turn"]}
    assert desk.post(f"{desk.task_url}suggestion/{act}/", shown).status_code == 200
    assert desk.post(f"{desk.task_url}suggestion/{act}/", shown).status_code == 200


def test_suggestion_of_another_conversation_than_the_one_seen_is_not_kept(desk):
    desk.write()
    desk.team.run_turn("First.")
    seen = desk.team.api.get(f"{desk.task_url}suggestion/").data
    desk.write()
    desk.team.run_turn("Second.")
    shown = {"id": seen["id"], "turn": seen["turn"]}
    refused = desk.post(f"{desk.task_url}suggestion/keep/", shown)
    assert (refused.status_code, refused.data["present"]["text"]) == (412, "Second.")


@pytest.mark.parametrize(("act", "state"), [("keep", "kept"), ("discard", "discarded")])
def test_suggestion_that_is_stored_just_after_the_check_is_not_decided(
    desk, monkeypatch, act, state
):
    desk.write()
    desk.team.run_turn("First.")
    first = Suggestion.objects.get()
    other = desk.write()
    lock = suggestions.lock_newest

    def lock_before_another_is_stored(task):
        found = lock(task)
        suggestions.store(other, task, "Second.", turn=1)
        return found

    monkeypatch.setattr(suggestions, "lock_newest", lock_before_another_is_stored)
    shown = {"id": str(first.pk), "turn": first.turn}
    decided = desk.post(f"{desk.task_url}suggestion/{act}/", shown)
    assert (decided.status_code, decided.data["text"]) == (200, "First.")
    states = dict(Suggestion.objects.values_list("text", "state"))
    assert states == {"First.": state, "Second.": "open"}


def test_suggestion_of_a_deleted_conversation_is_gone(desk):
    started = desk.write()
    desk.team.run_turn("Secret.")
    deletion.delete(started, by=desk.team.ada)
    assert desk.team.api.get(f"{desk.task_url}suggestion/").status_code == 404
    assert not Suggestion.objects.exists()


def test_empty_answer_is_no_suggestion(desk):
    desk.write()
    desk.team.run_turn("")
    assert not Suggestion.objects.exists()


# --- execute --------------------------------------------------------------------------------------


def test_execute_starts_a_conversation_with_the_instruction(desk):
    answer = desk.post(desk.execute_url, {"instruction": "Look at the build."})
    assert answer.status_code == 201
    shown = answer.data["conversation"]
    assert (shown["trigger_type"], shown["status"]) == ("execute", "queued")
    assert (shown["title"], shown["task_id"]) == ("Look at the build.", None)
    desk.team.run_turn("It is green.")
    assert desk.team.said == []


def test_execute_on_a_task_has_the_task_and_shows_on_its_timeline(desk):
    answer = desk.post(
        desk.execute_url, {"instruction": "Review it.", "task": desk.team.task.number}
    )
    assert answer.data["conversation"]["task_id"] == str(desk.team.task.pk)
    assert desk.team.timeline[-1] == "agent.session.started"
    assert "# HARB-1: Fix the login" in desk.team.messages()[0]
    desk.team.run_turn("Reviewed.")
    assert desk.team.said == []


def test_execute_for_an_idle_agent_is_refused_while_it_has_work(desk):
    body = {"instruction": "Go.", "idle": True}
    assert desk.post(desk.execute_url, body).status_code == 201
    busy = desk.post(desk.execute_url, body)
    assert (busy.status_code, busy.data["code"]) == (409, "agent_busy")
    desk.team.run_turn("Done.")
    assert desk.post(desk.execute_url, body).status_code == 201


# --- wrong input ------------------------------------------------------------------------------------

ZERO = "00000000-0000-0000-0000-000000000000"
EXECUTE, WRITE, KEEP = "execute/", "write-with-ai/", "suggestion/keep/"
WRONG: list[tuple[str, Any, int, str, str]] = [
    (EXECUTE, {}, 400, "invalid", "instruction"),
    (EXECUTE, {"instruction": " "}, 400, "invalid", "instruction"),
    (EXECUTE, {"instruction": 7.5}, 201, "", ""),
    (EXECUTE, {"instruction": "x" * 100_001}, 400, "invalid", "instruction"),
    (EXECUTE, {"instruction": "a\0b"}, 400, "invalid", "instruction"),
    (EXECUTE, {"instruction": "Go", "task": 99}, 404, "not_found", ""),
    (EXECUTE, {"instruction": "Go", "task": "HARB-1"}, 400, "invalid", "task"),
    (EXECUTE, {"instruction": "Go", "task": 2**40}, 400, "invalid", "task"),
    (EXECUTE, {"instruction": "Go", "idle": "perhaps"}, 400, "invalid", "idle"),
    (EXECUTE, {"instruction": "Go", "when": "now"}, 400, "invalid", "when"),
    (WRITE, {}, 400, "invalid", "agent_id"),
    (WRITE, {"agent_id": "rosa"}, 400, "invalid", "agent_id"),
    (WRITE, {"agent_id": ZERO}, 404, "not_found", ""),
    (WRITE, {"agent_id": ZERO, "text": "x"}, 400, "invalid", "text"),
    (KEEP, {"text": 1.5}, 404, "not_found", ""),
    (KEEP, {"text": []}, 400, "invalid", "text"),
    (KEEP, {"texts": ""}, 400, "invalid", "texts"),
    ("suggestion/discard/", {"text": ""}, 400, "invalid", "text"),
    ("suggestion/discard/", {}, 404, "not_found", ""),
]


@pytest.mark.parametrize(("path", "body", "status", "code", "field"), WRONG)
def test_wrong_input_gets_its_error(desk, path, body, status, code, field):
    url = desk.execute_url if path == EXECUTE else f"{desk.task_url}{path}"
    answer = desk.post(url, body)
    assert (answer.status_code, answer.data.get("code", "")) == (status, code), answer.data
    if field:
        assert field in answer.data["fields"]


def test_description_that_is_too_long_is_refused_and_stays_open(desk):
    desk.write()
    desk.team.run_turn("Better.")
    answer = desk.post(f"{desk.task_url}suggestion/keep/", {"text": "x" * 100_001})
    assert (answer.status_code, answer.data["code"]) == (400, "invalid")
    assert Suggestion.objects.get().state == "open"


def test_inactive_agent_takes_no_instruction(desk):
    agents.configure(desk.team.world.agent, by=desk.team.ada, status="inactive")
    answers = [
        desk.post(desk.execute_url, {"instruction": "Go."}),
        desk.post(f"{desk.task_url}{WRITE}", {"agent_id": str(desk.team.world.agent.pk)}),
    ]
    assert {answer.data["code"] for answer in answers} == {"agent_unavailable"}


# --- lists and states -------------------------------------------------------------------------------


def test_conversations_of_a_task_are_listed(desk):
    desk.team.assign()
    other = desk.team.add_task("Another")
    services.start_chat(desk.team.world.agent, text="Hello", by=desk.team.ada)
    listed = desk.team.api.get(f"{desk.conversations_url}?task={desk.team.task.number}").data
    assert [one["task_id"] for one in listed["results"]] == [str(desk.team.task.pk)]
    listed = desk.team.api.get(f"{desk.conversations_url}?task={other.number}").data
    assert listed["results"] == []
    assert desk.team.api.get(f"{desk.conversations_url}?task=99").status_code == 404
    assert desk.team.api.get(f"{desk.conversations_url}?task=x").status_code == 400
