"""What the agent Guide has noted in a conversation, made by ``manage.py shell``."""

from uuid import UUID

from paca.agents.models import Agent
from paca.conversations import store
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import Conversation
from paca.conversations.services import memory, memory_notes
from paca.projects.models import Member
from tests.browser.row_kinds import stopped_chat


def noted() -> UUID:
    """Make a conversation in which three notes were made that wait, two for the agent and one for the project."""
    made = stopped_chat("How do tests run here?")
    agent = Agent.objects.get(pk=Conversation.objects.get(pk=made).agent_id)
    by = Member.objects.with_names().get(agent=agent)
    person = Member.objects.with_names().get(project=agent.project, user__username="admin")
    own, ours = MemoryOwner(agent.project, agent), MemoryOwner(agent.project)
    old = memory.add(own, text="The port is 80.", by=person)
    for owner, text, replaces in (
        (own, "Tests run with make check.", ""),
        (own, "The port is 8000.", str(old.pk)),
        (ours, "Releases are cut from the branch " + "with-a-long-name" * 8 + ".", ""),
    ):
        result = memory_notes.note(owner, text=text, by=by, conversation_id=made, replaces=replaces)
        assert result.event is not None
        store.append(made, result.event)
    return made
