"""A chat for tests: a project with one agent, its owner at the API, and a worker played by the test."""

import asyncio
from typing import Any
from uuid import UUID

from django.http import HttpResponse

from paca.accounts.models import User
from paca.conversations import store
from paca.conversations.models import Conversation
from paca.conversations.store import Lease
from paca.engine.turn import LogEntry, TurnOutcome
from paca.events import ToolCalled, ToolReturned
from paca.projects.models import Member
from paca.projects.services import members
from paca.worker import claim, turn_end
from tests.support.api import Api
from tests.support.world import make_world

CALL = "7d3c1f0a-52a4-4b77-9a3e-3f5a4c1b2d10"


class Chat:
    """One agent of a project, and the people who write to it."""

    def __init__(self, name: str = "Harbor", **agent: Any) -> None:
        self.world = make_world(name, **agent)
        self.api = Api(self.world.user)

    # --- addresses ----------------------------------------------------------------------------

    @property
    def project_url(self) -> str:
        return f"/projects/{self.world.project.pk}/"

    @property
    def sessions_url(self) -> str:
        return f"{self.project_url}agents/{self.world.agent.pk}/chat-sessions/"

    @property
    def conversations_url(self) -> str:
        return f"{self.project_url}conversations/"

    def url(self, conversation: Any, rest: str = "") -> str:
        """The API address of a conversation, or of ``rest`` below it."""
        return f"{self.conversations_url}{conversation}/{rest}"

    # --- people -------------------------------------------------------------------------------

    def add_member(self, username: str, role: str = "member") -> Member:
        """A new person of the project with this role."""
        user = User.objects.create_user(username=username, password="a long password 7")
        self.world.project.workspace.members.create(user=user)
        return members.add_person(
            self.world.project, user=user, role=self.world.role(role), by=self.world.owner
        )

    def api_of(self, member: Member) -> Api:
        """The API as this member uses it."""
        assert member.user is not None
        return Api(member.user)

    def start(self, text: str = "Hello", **body: Any) -> dict[str, Any]:
        """Start a chat over the API. Gives the ids of the response."""
        answer = self.api.post(self.sessions_url, {"message": text, **body})
        assert answer.status_code == 201, answer.data
        return dict(answer.data)

    def row(self, conversation: Any) -> Conversation:
        return Conversation.objects.get(pk=conversation)

    # --- the worker ---------------------------------------------------------------------------

    def start_turn(self, conversation: Any, *entries: LogEntry) -> Lease:
        """Claim the conversation as a worker, and store these entries under the lease."""
        (claimed,) = claim.claim("test", lease_seconds=60, limit=1)
        assert claimed.lease.conversation_id == UUID(str(conversation))
        if entries:
            store.append(claimed.lease.conversation_id, *entries, lease=claimed.lease)
        return claimed.lease

    def finish_turn(self, lease: Lease, *entries: LogEntry) -> None:
        """Store these entries, and finish the turn as answered."""
        turn_end.end_turn(lease, entries, TurnOutcome("finished", "answered"), steps=1)

    def run_turn(self, conversation: Any, *entries: LogEntry) -> None:
        """A whole turn: claim, store, finish."""
        self.finish_turn(self.start_turn(conversation, *entries))


def bash_call(command: str, output: str, **facts: Any) -> list[LogEntry]:
    """A call of the tool bash and its outcome."""
    arguments = {"command": command}
    return [
        ToolCalled(call_id=CALL, tool="bash", arguments=arguments, subject=command),
        ToolReturned(call_id=CALL, output=output, exit_code=0, seconds=0.2, **facts),
    ]


def download(answer: HttpResponse) -> bytes:
    """The whole body of a response, streamed or not."""

    async def read() -> bytes:
        return b"".join([piece async for piece in answer.streaming_content])

    assert answer.status_code == 200
    return asyncio.run(read()) if answer.streaming else answer.content


def error_of(answer: HttpResponse) -> tuple[int, str, dict[str, list[str]]]:
    """The error in a response: status, code, and the messages of each field."""
    body = answer.json()
    assert body["detail"], body
    assert "request_id" in body
    return answer.status_code, body["code"], body.get("fields", {})
