"""The pause of a sandbox, recorded by a sweeper while runs and other sweepers work on the same row."""

import pytest
from django.utils import timezone

from paca.conversations import sandbox_queries, services
from paca.conversations.models import Conversation, Sandbox
from paca.conversations.sandbox_queries import SandboxRecord
from paca.sandbox.base import IdlePolicy
from paca.worker.sandboxes import sweeper
from paca.worker.sandboxes.sweeper import PauseResult, Sweeper
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def idle_sandbox() -> SandboxRecord:
    """A running sandbox that no run is using."""
    here = make_world()
    services.start_chat(here.agent, text="Go", by=here.owner)
    Conversation.objects.update(status="running")
    Conversation.objects.update(status="finished")
    Sandbox.objects.create(
        conversation=Conversation.objects.get(),
        backend="docker",
        boot_id="a",
        last_used_at=timezone.now(),
    )
    (found,) = sandbox_queries.living()
    return found


def test_record_paused_moves_an_idle_sandbox_once(idle_sandbox):
    assert sweeper.record_paused(idle_sandbox) is PauseResult.RECORDED
    assert sweeper.record_paused(idle_sandbox) is PauseResult.OUTDATED
    assert Sandbox.objects.get().state == "paused"


@pytest.mark.parametrize(
    "change",
    [
        lambda: (
            Conversation.objects.update(status="queued")
            and Conversation.objects.update(status="running")
        ),
        lambda: Sandbox.objects.update(boot_id="b"),
    ],
    ids=["a run has started", "a run has started and ended"],
)
def test_record_paused_reports_a_sandbox_in_use(idle_sandbox, change):
    change()
    assert sweeper.record_paused(idle_sandbox) is PauseResult.IN_USE
    assert Sandbox.objects.get().state == "running"


class PausingManager:
    """Pauses every sandbox, and remembers which ones it has resumed."""

    def __init__(self) -> None:
        self.resumed: list[object] = []

    async def pause(self, conversation_id, backend) -> bool:
        return True

    async def resume(self, conversation_id, backend) -> None:
        self.resumed.append(conversation_id)


class ScriptedDatabase:
    """Answers the query for idle sandboxes and the write of the pause."""

    def __init__(self, sandbox: SandboxRecord, result: PauseResult) -> None:
        self._answers = {
            sandbox_queries.to_pause: [sandbox],
            sweeper.record_paused: result,
        }

    async def call(self, function, *args):
        return self._answers[function]


@pytest.mark.anyio
@pytest.mark.parametrize("result", list(PauseResult))
async def test_sweeper_resumes_a_paused_sandbox_only_if_a_run_uses_it(result):
    sandbox, manager = SandboxRecord("c", "docker", "a", ""), PausingManager()
    database = ScriptedDatabase(sandbox, result)
    await Sweeper("w", database, manager, IdlePolicy())._pause_idle()
    assert manager.resumed == (["c"] if result is PauseResult.IN_USE else [])
