"""Services for the questions of agents to people."""

from __future__ import annotations

from django.db import transaction

from paca import events
from paca.common.errors import Invalid, NotAllowed
from paca.conversations.models import Conversation, PersonRequest, RequestKind
from paca.conversations.services import person_requests, waits
from paca.conversations.services.inbox import lock
from paca.conversations.services.person_requests import RequestDecided
from paca.projects.models import Member

MAX_ANSWER_CHARACTERS = 10_000


class QuestionAnswered(RequestDecided):
    """This question was answered before, or waits no longer."""

    code = "question_answered"


@transaction.atomic
def answer(conversation: Conversation, *, question_id: str, text: str, by: Member) -> PersonRequest:
    """Answer a question that waits, with the label of a choice or other words. A worker then carries the turn on.

    The model reads the ``text`` with the name of the person. Raises ``Invalid`` for an empty or too long text,
    ``NotAllowed`` if an agent answers, ``NotFound``, and ``QuestionAnswered`` if somebody or something was faster.
    """
    # guard: question-is-answered-by-people
    if by.agent_id is not None:
        raise NotAllowed("An agent answers no questions to people.")
    text = text.strip()
    if not text:
        raise Invalid(fields={"text": ["Write an answer, or choose one."]})
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise Invalid(fields={"text": [f"At most {MAX_ANSWER_CHARACTERS:,} characters."]})
    current = lock(conversation)
    question = person_requests.get(current, question_id, kind=RequestKind.QUESTION)
    person_requests.require_open(question, QuestionAnswered)
    answered = events.QuestionAnswered(
        call_id=question.call_id,
        text=text,
        by=by.name,
        by_id=str(by.pk),
        seconds=waits.waited_seconds(question),
    )
    waits.end(current, question, answered)
    return person_requests.get(current, question_id, kind=RequestKind.QUESTION)
