"""Forks a conversation: makes a new one whose log begins with a copy of another's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Invalid, NotFound
from paca.conversations import (
    conversation_columns,
    event_log,
    forked_files,
    log_copy,
    search_index,
    store,
)
from paca.conversations.models import (
    ChatSession,
    Conversation,
    ConversationStatus,
    TriggerType,
    TurnStatus,
)
from paca.conversations.services import helpers, messages, plans
from paca.conversations.services.inbox import check_agent_available, check_subject, lock
from paca.engine.approvals.plans import PlanState, as_facts
from paca.engine.model_state import EFFORTS
from paca.projects.models import Member

FORK_OF = "Fork of "
NOT_RUN = "Not run. The conversation was forked before this call ran."
RUNS_ON = (
    "The conversation was forked while this call ran. It ran on in the other conversation, and its result is"
    " not known here."
)


@transaction.atomic
def fork(origin: Conversation, *, seq: int, by: Member, text: str = "") -> Conversation:
    """Make a chat of ``by`` that begins with the events of ``origin`` up to ``seq``; 0 is none of them.

    The origin stays as it is, and may run on. The fork's usage and its budgets count from 0. The files of the
    origin are copied when the sandbox of the fork is first used, if it had files at that event. With a ``text`` it is
    sent there, which starts the agent; in place of a message right after the event, it has the effort of that one. Raises ``Invalid`` if there is no
    event ``seq`` or the text is too long, ``NotFound`` if the origin is deleted, ``SubjectDeleted``, and
    what ``check_agent_available`` raises.
    """
    helpers.refuse_helper(origin)
    if text:
        messages.check_text(text)
    origin = lock(origin)  # its log cannot be deleted meanwhile
    # guard: fork-of-a-deleted-conversation
    if origin.deleted_at is not None:
        raise NotFound("This conversation was deleted.")
    if seq > origin.last_seq:
        raise Invalid(
            fields={"seq": [f"The last event of this conversation is {origin.last_seq}."]}
        )
    check_agent_available(origin.agent)
    check_subject(origin)
    turn, is_running = _last_turn(origin.pk, seq)
    made = _create(origin, seq, turn, by=by)
    log_copy.copy_events(origin.pk, made.pk, upto_seq=seq)
    own: list[events.Event] = [*_results_of_open_calls(origin.pk, seq)]
    if is_running:
        status = TurnStatus.STOPPED.value
        own.append(events.TurnFinished(number=turn, status=status, reason="forked"))
    if seq == 0:  # it has nothing of the origin, and begins as any chat
        # guard: fork-of-nothing-begins-as-the-agent-says
        plans.begin(made, origin.agent)
    store.append(made.pk, *own, *_first_events(origin, seq, by=by))
    search_index.index(made.pk)
    if text:
        messages.send(made, text=text, by=by, effort=_effort_of_next(origin.pk, seq))
    made.refresh_from_db()
    return made


def _last_turn(conversation_id: UUID, seq: int) -> tuple[int, bool]:
    """The number of the last turn that began up to ``seq``, 0 if there is none, and whether it ran there."""
    types = (events.TurnStarted.type, events.TurnFinished.type)
    for event in event_log.backwards(conversation_id, types, upto_seq=seq):
        if isinstance(event, events.TurnStarted | events.TurnFinished):
            return event.number, isinstance(event, events.TurnStarted)
    return 0, False


def _effort_of_next(conversation_id: UUID, seq: int) -> str:
    """The effort of the message right after the event ``seq``, which the text of the fork takes the place of."""
    for stored in event_log.page_after(conversation_id, seq, 1):
        event = stored.load()
        # guard: fork-keeps-the-effort-of-the-message
        if isinstance(event, events.MessageReceived) and event.effort in EFFORTS:
            return event.effort
    return ""


def _context(conversation_id: UUID, seq: int) -> dict[str, Any] | None:
    """What filled the newest request up to ``seq``, as the column ``context``; None if no event tells it."""
    types = (events.UsageRecorded.type, events.ContextCompacted.type)
    for event in event_log.backwards(conversation_id, types, upto_seq=seq):
        if isinstance(event, events.UsageRecorded | events.ContextCompacted) and event.context:
            return event.context
    return None


def _todo(conversation_id: UUID, seq: int) -> dict[str, Any] | None:
    """The to-do list as it was at the event ``seq``, as the column ``todo``."""
    types = (events.TodoChanged.type,)
    for event in event_log.backwards(conversation_id, types, upto_seq=seq):
        if isinstance(event, events.TodoChanged):
            return conversation_columns.todo_column(event)
    return None


def _plan(conversation_id: UUID, seq: int) -> PlanState:
    """Plan mode and the plan as they were at the event ``seq``."""
    types = (events.FlagsChanged.type, events.PlanDecided.type, events.PlanChanged.type)
    found = [*event_log.backwards(conversation_id, types, upto_seq=seq)]
    state = PlanState()
    for event in reversed(found):
        state = state.advance(event)
    return state


def _tracing(conversation_id: UUID, seq: int) -> bool | None:
    """Whether somebody had switched the trace on or off up to ``seq``; None if nobody had."""
    for event in event_log.backwards(conversation_id, (events.FlagsChanged.type,), upto_seq=seq):
        # guard: fork-has-the-trace-of-its-moment
        if isinstance(event, events.FlagsChanged) and event.tracing is not None:
            return event.tracing
    return None


def _create(origin: Conversation, seq: int, turn: int, *, by: Member) -> Conversation:
    session = ChatSession.objects.create(agent=origin.agent, member=by)
    plan = _plan(origin.pk, seq)
    made = Conversation.objects.create(
        project_id=origin.project_id,
        agent=origin.agent,
        session=session,
        trigger_type=TriggerType.CHAT_MESSAGE,
        triggered_by=by,
        task_id=origin.task_id,
        doc_id=origin.doc_id,
        forked_from=origin,
        status=ConversationStatus.FINISHED,
        reason="answered",
        next_seq=seq + 1,
        turn_number=turn,
        tracing=_tracing(origin.pk, seq),
        context=_context(origin.pk, seq),
        todo=_todo(origin.pk, seq),
        plan_mode=plan.mode,
        plan={"title": plan.title, "steps": as_facts(plan.steps)} if plan.steps else None,
    )
    session.conversation = made
    session.save(update_fields=["conversation", "updated_at"])
    return made


_CALL_EVENTS = (
    events.ToolCalled.type,
    events.ToolStarted.type,
    events.ToolReturned.type,
    events.ToolOutcomeUnknown.type,
)


def _results_of_open_calls(conversation_id: UUID, seq: int) -> Iterator[events.ToolReturned]:
    """A result for each call that has none up to ``seq``, so that the fork does not run the origin's calls.

    Only the newest reply can have such calls: the log has the results of a reply before the next reply.
    """
    has_result, has_started = set(), set()
    newest_reply, open_calls = None, []
    for event in event_log.backwards(conversation_id, _CALL_EVENTS, upto_seq=seq):
        match event:
            case events.ToolReturned() | events.ToolOutcomeUnknown():
                has_result.add(event.call_id)
            case events.ToolStarted():
                has_started.add(event.call_id)
            case events.ToolCalled():
                if newest_reply not in (None, event.model_call_id):
                    break
                newest_reply = event.model_call_id
                open_calls.append(event.call_id)
    # guard: fork-closes-open-calls
    for call_id in reversed([each for each in open_calls if each not in has_result]):
        text = RUNS_ON if call_id in has_started else NOT_RUN
        yield events.ToolReturned(call_id=call_id, output=text, failed=True, cause="cancelled")


def _first_events(origin: Conversation, seq: int, *, by: Member) -> list[events.Event]:
    """The events that are the fork's own: its origin, and a title that tells the two apart."""
    forked = events.ConversationForked(
        conversation_id=str(origin.pk),
        seq=seq,
        title=origin.title,
        by=by.name,
        files=forked_files.files_at(origin, seq),
    )
    title = origin.title.removeprefix(FORK_OF)
    if not title or seq == 0:  # then the first message gives the title
        return [forked]
    named = events.TitleChanged(title=f"{FORK_OF}{title}"[: messages.MAX_TITLE_CHARACTERS])
    return [forked, named]
