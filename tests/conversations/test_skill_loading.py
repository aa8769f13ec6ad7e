"""Skills that a message calls for are opened with it, once in a conversation."""

from typing import Any

import pytest

from paca.agents.models import Skill
from paca.agents.services import skills
from paca.conversations import services
from paca.conversations.models import Conversation
from tests.support.frames import frames_of
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    found = make_world()
    add_skill(found, "boats", triggers=["boat"])
    return found


def add_skill(world: World, name: str, **settings: Any) -> Skill:
    content = f"How to do {name}."
    return skills.create(
        world.agent, name=name, by=world.owner, description="d", content=content, **settings
    )


def start(world: World, text: str) -> Conversation:
    receipt = services.start_chat(world.agent, text=text, by=world.owner)
    return Conversation.objects.get(pk=receipt.conversation_id)


def loaded(conversation: Conversation) -> list[dict[str, Any]]:
    frames = frames_of(conversation.pk)
    return [frame["data"] for frame in frames if frame["type"] == "agent.skill.loaded"]


def test_message_with_a_keyword_opens_the_skill_right_after_it(world: World) -> None:
    conversation = start(world, "Build a boat")
    types = [frame["type"] for frame in frames_of(conversation.pk)]
    assert types[:2] == ["agent.message.received", "agent.skill.loaded"]
    assert loaded(conversation) == [
        {"skill": "boats", "text": "How to do boats.", "keyword": "boat", "files": []}
    ]


def test_skill_is_opened_once_in_a_conversation(world: World) -> None:
    conversation = start(world, "Build a boat")
    services.send(conversation, text="A second boat, see /boats", by=world.owner)
    assert len(loaded(conversation)) == 1
    assert len(loaded(start(world, "Another boat"))) == 1


def test_edited_message_opens_the_skill_that_it_then_calls_for(world: World) -> None:
    conversation = start(world, "Build a ship")
    assert loaded(conversation) == []
    services.edit(conversation, event_seq=1, text="Build it, /boats", by=world.owner)
    assert [each["keyword"] for each in loaded(conversation)] == [""]


def test_skills_that_are_off_or_in_every_prompt_or_of_another_agent_are_not_opened(
    world: World,
) -> None:
    add_skill(world, "off", triggers=["ship"], enabled=False)
    add_skill(world, "always", triggers=["ship"], always_on=True)
    assert loaded(start(world, "A ship, /off /always")) == []
    Skill.objects.filter(name="boats").update(agent=make_world("other").agent)
    assert loaded(start(world, "A boat")) == []
