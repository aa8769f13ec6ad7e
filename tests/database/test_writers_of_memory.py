"""Two workers and people write a memory at the same time: it keeps its size, and has each text once."""

from functools import partial

import pytest

from paca.conversations import memory_lists
from paca.conversations.services import memory
from paca.conversations.services.memory import MemoryDuplicate
from tests.conversations.memory_desk import MemoryDesk
from tests.database.concurrency import run_concurrently

pytestmark = pytest.mark.django_db(transaction=True)


def test_memory_keeps_its_size_and_has_each_text_once(settings):
    settings.MEMORY_CHARACTERS = 1000
    desk = MemoryDesk()
    desk.set_policy("on", project="on")
    _ = desk.conversation  # made before the threads begin

    def note(writer: int) -> None:
        for number in range(4):
            for of in (desk.of_agent, desk.of_project):
                desk.note(f"{writer} {number} " + "n" * 200, of=of)
                desk.note(f"All say {number}.", of=of)

    def add() -> None:
        for number in range(4):
            try:
                memory.add(desk.of_agent, text=f"All say {number}.", by=desk.team.ada)
            except MemoryDuplicate:
                continue

    run_concurrently([partial(note, 1), partial(note, 2), add])
    for of in (desk.of_agent, desk.of_project):
        texts = desk.texts(of)
        assert len(texts) == len(set(texts)) > 0
        assert memory_lists.characters(of) <= 1000
