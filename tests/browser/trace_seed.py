"""A conversation of two turns with calls of models and tools, of which those of the second are traced."""

import json
from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from paca.conversations.models import Conversation, ModelCall, ToolCall, TracedCall
from paca.conversations.services import set_flags
from tests.browser.row_kinds import stopped_chat
from tests.conversations.traced_calls import NOTHING_KNOWN, keep

START = timezone.now() - timedelta(hours=1)
TOOLS = [{"name": "bash", "description": "Run a command.", "input_schema": {"type": "object"}}]


def conversation() -> UUID:
    """Make the conversation; no worker answers it."""
    made = stopped_chat("Count the quokkas of the island")
    row = Conversation.objects.get(pk=made)
    set_flags(row, tracing=True, by=row.triggered_by)
    known = NOTHING_KNOWN
    for number in range(8):
        turn, at = 1 + number // 4, START + timedelta(seconds=9 * number)
        call = ModelCall.objects.create(
            id=uuid4(),
            conversation=row,
            project_id=row.project_id,
            agent_id=row.agent_id,
            turn=turn,
            model="anthropic/claude-sonnet-4-5-20250929",
            purpose="compaction" if number == 5 else "turn",
            attempt=2 if number == 3 else 1,
            status="failed" if number == 2 else "done",
            started_at=at,
            finished_at=at + timedelta(seconds=4),
            input_tokens=5_200 + 800 * number,
            output_tokens=310,
            cache_read_tokens=4_000 * (number > 0),
            cost_usd=None if number == 2 else 0.0123,
        )
        if number < 7:
            ToolCall.objects.create(
                id=uuid4(),
                conversation=row,
                turn=turn,
                tool="bash" if number % 2 else "read_file",
                epoch=1,
                state="failed" if number == 4 else "done",
                exit_code=2 if number == 4 else 0,
                called_at=at + timedelta(seconds=4),
                started_at=at + timedelta(seconds=5),
                finished_at=at + timedelta(seconds=8.5),
            )
        if turn == 2:
            known = _trace(made, number, call, known)
    return made


def _trace(made: UUID, number: int, call: ModelCall, known: object) -> object:
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": [{"type": "text", "text": f"{n}: <b>quokka</b> \u202e{'and so on ' * 20}"}]}
        for n in range(number)
    ]  # fmt: skip
    body = {"model": call.model, "system": "You are Rosa.", "messages": messages, "tools": TOOLS}
    call_id, known = keep(made, json.dumps(body).encode(), known)  # type: ignore[arg-type]
    TracedCall.objects.filter(call_id=call_id).update(
        call_id=call.pk, turn=call.turn, model=call.model, first_token_seconds=1.4
    )
    return known
