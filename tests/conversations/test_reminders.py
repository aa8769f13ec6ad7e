"""Reminders in the log: the answer that is delivered, and the settings of an agent over the API."""

import pytest

from paca.accounts.models import AuditEntry
from paca.conversations import event_log
from paca.events import MessageSpoken, ReminderGiven
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db
HINT = ReminderGiven(kind="hint", text="Be exact.")
CHECK = ReminderGiven(kind="verification", text="Check it.")


def answer(*said) -> str:
    chat = Chat()
    conversation = chat.start("Go")["conversation"]
    chat.run_turn(conversation, *said)
    return event_log.final_answer(conversation, 1)


def test_answer_after_the_check_is_the_final_one():
    assert (
        answer(HINT, MessageSpoken(text="Done."), CHECK, MessageSpoken(text="Checked."))
        == "Checked."
    )


def test_answer_that_no_limit_let_check_is_the_final_one():
    assert answer(HINT, MessageSpoken(text="Done."), CHECK) == "Done."


def test_reminders_are_settings_of_the_agent_that_the_audit_names():
    chat = Chat()
    address = f"{chat.project_url}agents/{chat.world.agent.pk}/"
    before = chat.api.get(address).json()
    assert (before["verification"], before["prompts"]["hint"]) == ("off", "")
    changes = {
        "verification": "always",
        "prompts": {"hint": "Be exact.", "verification": "Run it."},
    }
    changed = chat.api.patch(address, changes).json()
    assert changed["verification"] == "always"
    assert changed["prompts"]["verification"] == "Run it."
    (entry,) = AuditEntry.objects.filter(action="agent.configured")
    assert entry.facts["fields"] == ["hint", "verification", "verification_prompt"]
