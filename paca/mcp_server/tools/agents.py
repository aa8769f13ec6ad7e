"""Tools that give agents work, wait for them and read what they did."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, model_validator

from paca.mcp_server import waiting
from paca.mcp_server.call import Call
from paca.mcp_server.results import pick
from paca.mcp_server.tools.base import (
    HIGHEST_NUMBER,
    Arguments,
    IdempotencyKey,
    McpTool,
    NoArguments,
    ProjectId,
    TaskNumber,
    Text,
    all_rows,
    page,
)
from paca.mcp_server.tools.projects import ListArguments

HIGHEST_SEQ = 2**63 - 1
MAX_EVENTS = 50
ON_TASK = "Work on this task: read it with its comments, do what it asks for, and report what you have done."
WaitSeconds = Annotated[
    float,
    Field(ge=0, le=waiting.MAX_SECONDS, description="How long to wait for the answer; 0: not."),
]
BRIEF = ("id", "title", "status", "reason", "agent", "task_id", "trigger_type", "updated_at")


class StartArguments(Arguments):
    """An agent and its work."""

    project: ProjectId
    agent: Annotated[UUID, Field(description="From list_agents.")]
    instruction: Annotated[Text, Field(description="What to do; may be left out with a task.")] = ""
    task: TaskNumber | None = None
    wait_seconds: WaitSeconds = 0
    idempotency_key: IdempotencyKey = ""

    @model_validator(mode="after")
    def _has_work(self) -> "StartArguments":
        if not self.instruction.strip() and self.task is None:
            raise ValueError("give an instruction, a task or both")
        return self


class StartAgent(McpTool[StartArguments]):
    """Start an agent on a task or with an instruction. Gives the conversation, and the answer if you wait.

    Each call starts a conversation, unless you repeat it with its idempotency_key.
    """

    name = "start_agent"
    arguments = StartArguments

    async def act(self, arguments: StartArguments, call: Call) -> Any:
        body: dict[str, Any] = {"instruction": arguments.instruction.strip() or ON_TASK}
        if arguments.task is not None:
            body["task"] = arguments.task
        started = await call.rest.post(
            "projects",
            arguments.project,
            "agents",
            arguments.agent,
            "execute",
            body=body,
            idempotency_key=arguments.idempotency_key,
        )
        return await waiting.wait_after_start(
            call, arguments.project, started["conversation"], arguments.wait_seconds
        )


class ConversationArguments(Arguments):
    """A conversation."""

    project: ProjectId
    conversation: UUID


class WaitArguments(ConversationArguments):
    """A conversation to wait for."""

    wait_seconds: WaitSeconds = 45
    after: Annotated[
        int, Field(ge=0, le=HIGHEST_SEQ, description="Only an answer above this event counts.")
    ] = 0


class WaitForAgent(McpTool[WaitArguments]):
    """Wait until the agent of a conversation has answered. is_working true means: call it again."""

    name = "wait_for_agent"
    arguments = WaitArguments
    is_read_only = True

    async def act(self, arguments: WaitArguments, call: Call) -> Any:
        return await waiting.wait(
            call,
            arguments.project,
            arguments.conversation,
            arguments.wait_seconds,
            after=arguments.after,
        )


class MessageArguments(ConversationArguments):
    """A message to an agent."""

    text: Annotated[Text, Field(min_length=1)]
    on_busy: Annotated[
        Literal["queue", "interrupt", "reject"],
        Field(description="While it works: queue it, interrupt the work, or refuse the message."),
    ] = "queue"
    wait_seconds: WaitSeconds = 0
    idempotency_key: IdempotencyKey = ""


class SendMessage(McpTool[MessageArguments]):
    """Write to the agent of a conversation, which then works on it."""

    name = "send_message"
    arguments = MessageArguments

    async def act(self, arguments: MessageArguments, call: Call) -> Any:
        place = ("projects", arguments.project, "conversations", arguments.conversation)
        receipt = await call.rest.post(
            *place,
            "messages",
            body={"text": arguments.text, "on_busy": arguments.on_busy},
            idempotency_key=arguments.idempotency_key,
        )
        seq = receipt["event_seq"]
        conversation = {"id": str(arguments.conversation)}
        found = await waiting.wait_after_start(
            call, arguments.project, conversation, arguments.wait_seconds, after=seq
        )
        return {**found, "message_seq": seq}


class StopAgent(McpTool[ConversationArguments]):
    """Stop the work in a conversation. What is done stays; a message goes on."""

    name = "stop_agent"
    arguments = ConversationArguments

    async def act(self, arguments: ConversationArguments, call: Call) -> Any:
        place = ("projects", arguments.project, "conversations", arguments.conversation)
        stopped = await call.rest.post(*place, "stop")
        return pick(stopped, *BRIEF)


class ListConversationsArguments(ListArguments):
    """A filter of conversations."""

    status: Literal[
        "queued", "running", "waiting", "paused", "finished", "failed", "stopped", ""
    ] = ""
    agent: UUID | None = None
    task: Annotated[int | None, Field(ge=1, le=HIGHEST_NUMBER)] = None
    search: Annotated[Text, Field(max_length=200)] = ""


class ListConversations(McpTool[ListConversationsArguments]):
    """List conversations of a project, the most recently active first."""

    name = "list_conversations"
    arguments = ListConversationsArguments
    is_read_only = True

    async def act(self, arguments: ListConversationsArguments, call: Call) -> Any:
        query = arguments.model_dump(exclude={"project"})
        answer = await call.rest.get("projects", arguments.project, "conversations", **query)
        return page(answer, [pick(each, *BRIEF) for each in answer["results"]])


class EventsArguments(ConversationArguments):
    """A part of the log of a conversation."""

    events: Annotated[
        int, Field(ge=0, le=MAX_EVENTS, description="How many events; the newest, or those after.")
    ] = 10
    after: Annotated[
        int | None, Field(ge=0, le=HIGHEST_SEQ, description="Events above this number.")
    ] = None


class GetConversation(McpTool[EventsArguments]):
    """Show a conversation: its status, the newest answer, and events of its log."""

    name = "get_conversation"
    arguments = EventsArguments
    is_read_only = True

    async def act(self, arguments: EventsArguments, call: Call) -> Any:
        place = ("projects", arguments.project, "conversations", arguments.conversation)
        found = await waiting.describe(call, arguments.project, await call.rest.get(*place))
        if not arguments.events:
            return found
        log = await call.rest.get(*place, "events", limit=arguments.events, after=arguments.after)
        events = [pick(each, "seq", "type", "at", "data") for each in log["results"]]
        return {**found, "events": events}


class ListRequests(McpTool[NoArguments]):
    """List what waits for a person's decision: approvals, questions and plans. Only people decide, in Paca."""

    name = "list_requests"
    arguments = NoArguments
    is_read_only = True

    async def act(self, arguments: NoArguments, call: Call) -> Any:
        return await all_rows(call, "requests", state="open")


TOOLS: tuple[McpTool[Any], ...] = (
    StartAgent(),
    WaitForAgent(),
    SendMessage(),
    StopAgent(),
    ListConversations(),
    GetConversation(),
    ListRequests(),
)
