"""Conversations that wait for a person, made by ``manage.py shell``; the worker of the product goes on with them."""

from uuid import UUID, uuid4

from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.conversations import services, store
from paca.conversations.models import Conversation
from paca.conversations.store import Lease
from paca.engine.approvals.person_tools import PersonRequested, subject_of
from paca.engine.tools.editing import EditFile
from paca.projects.models import Member
from paca.worker import person_wait

EDIT = {
    "path": "billing/totals.py",
    "old": "rest = tax",
    "new": "rest = 0  # the last line takes it",
}
CHOICES = [
    {"label": "2.14, then 2.13.1", "description": "Newest on top, as in earlier notes."},
    {"label": "2.13.1, then 2.14\u202e", "description": ""},
]
STEPS = [
    "Reproduce with a failing test",
    "Round once, hand the rest to the largest line",
    "Check sent invoices",
]


@transaction.atomic
def _waiting(text: str, tool: str, request: PersonRequested, *before: events.Event) -> UUID:
    """A chat whose turn waits. In one transaction, so that the worker sees it waiting or not at all."""
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    made = services.start_chat(agent, text=text, by=me).conversation_id
    Conversation.objects.filter(pk=made).update(lease_owner="seed", lease_epoch=1)
    lease = Lease(made, "seed", 1)
    triggers = store.claim_triggers(made, turn=1)
    called = events.ToolCalled(
        call_id=request.call_id,
        tool=tool,
        arguments=_arguments(request),
        subject=subject_of(request),
        model_call_id=uuid4().hex,
    )
    store.append(
        made,
        events.ConversationStarted(model=agent.model, demo=True),
        events.TurnStarted(number=1, triggers=triggers),
        *before,
        called,
        lease=lease,
    )
    person_wait.begin(lease, [], request)
    return made


def _arguments(request: PersonRequested) -> dict:
    match request:
        case events.QuestionAsked():
            return {"question": request.question, "choices": request.choices}
        case events.PlanProposed():
            return {"title": request.title, "steps": request.steps}
    return request.arguments


def edit() -> UUID:
    """A change of a file waits for an approval."""
    tool = EditFile()
    request = events.ApprovalRequested(
        call_id=uuid4().hex,
        tool="edit_file",
        arguments=EDIT,
        subject="billing/totals.py",
        rule="ask_for_all",
        why="This agent asks before each call.",
        effect="keyed",
        diff=tool.diff(tool.Arguments.model_validate(EDIT)),
    )
    return _waiting("Round the totals", "edit_file", request)


def question() -> UUID:
    """A question with choices waits."""
    request = events.QuestionAsked(
        call_id=uuid4().hex, question="Which version comes first in the notes?", choices=CHOICES
    )
    return _waiting("Write the release notes", "ask_person", request)


def plan() -> UUID:
    """A plan waits, in plan mode."""
    request = events.PlanProposed(
        call_id=uuid4().hex, title="Invoices add up to the cent", steps=STEPS
    )
    on = events.FlagsChanged(plan=True, by="admin")
    return _waiting("Mend the rounding", "propose_plan", request, on)
