"""Shows the frames of a conversation as text: the answer as it is written, and a line for each tool call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paca.common.visible_text import one_line
from paca.terminal.screen import Screen

Frame = dict[str, Any]

MAX_SUBJECT_CHARACTERS = 100
MAX_OUTPUT_CHARACTERS = 300
MAX_DIFF_LINES = 40
ENDS = {
    "agent.conversation.finished": "finished",
    "agent.conversation.failed": "failed",
    "agent.conversation.stopped": "stopped",
    "agent.conversation.paused": "paused",
}
BEGINS = {
    "agent.conversation.queued",
    "agent.conversation.started",
    "agent.conversation.resumed",
    "agent.turn.started",
}
ASKS = {
    "agent.approval.requested": "approval",
    "agent.question.asked": "question",
    "agent.plan.proposed": "plan",
}
DECIDED = {
    "agent.approval.given",
    "agent.approval.expired",
    "agent.approval.superseded",
    "agent.question.answered",
    "agent.plan.decided",
}


@dataclass
class State:
    """What the frames so far say of the conversation."""

    status: str = ""
    end_seq: int = 0
    waits: dict[str, tuple[str, Frame]] = field(default_factory=dict)  # call id: kind and facts
    own_messages: set[str] = field(default_factory=set)

    @property
    def is_working(self) -> bool:
        """Whether the agent works, or waits for something."""
        return self.status in ("queued", "running", "waiting")

    def take(self, frame: Frame) -> None:
        """Follow one frame."""
        kind, data = frame["type"], frame.get("data") or {}
        if kind == "ready":
            self.status = str((frame.get("conversation") or {}).get("status", self.status))
        elif kind in ENDS:
            self.status, self.end_seq = ENDS[kind], frame.get("seq") or 0
        elif kind in BEGINS:
            self.status = "running"
        elif kind == "agent.conversation.waiting":
            self.status = "waiting"
        elif kind in ASKS:
            self.waits[str(data.get("call_id"))] = ASKS[kind], data
        elif kind in DECIDED:
            self.waits.pop(str(data.get("call_id")), None)


class View:
    """Writes each frame to the screen, once."""

    def __init__(self, screen: Screen, state: State, *, live: bool, thinking: bool) -> None:
        """``live``: a terminal, where a tool call is shown when it starts and not only when it ends."""
        self._screen, self._state, self._live = screen, state, live
        self._shown: dict[tuple[str, str], int] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        self._pending_call = ""
        handlers: dict[str, Callable[[Frame], None]] = {
            "agent.text.streamed": self._text_streamed,
            "agent.message.spoken": self._message_spoken,
            "agent.message.discarded": self._message_discarded,
            "agent.message.received": self._message_received,
            "agent.tool.called": self._tool_called,
            "agent.tool.started": self._tool_started,
            "agent.tool.returned": self._tool_returned,
            "agent.tool.outcome_unknown": self._outcome_unknown,
            "agent.approval.requested": self._approval_requested,
            "agent.approval.given": self._approval_given,
            "agent.approval.expired": lambda data: self._note("nobody decided in time; not run"),
            "agent.question.asked": self._question_asked,
            "agent.question.answered": lambda data: self._note(
                f"answered by {data.get('by') or 'a person'}: {data.get('text')}"
            ),
            "agent.plan.proposed": self._plan_proposed,
            "agent.plan.decided": self._plan_decided,
            "agent.conversation.paused": self._paused,
            "agent.conversation.failed": self._failed,
            "agent.conversation.stopped": self._stopped,
            "agent.conversation.interrupted": lambda data: self._note("interrupted", "yellow"),
            "agent.sandbox.starting": lambda data: self._note("starting a sandbox"),
            "agent.model.retried": self._model_retried,
            "agent.context.compacted": lambda data: self._note("what came before was summarized"),
            "agent.context.compaction_skipped": lambda data: self._note(
                "a summary would be no shorter"
            ),
            "agent.limit.neared": lambda data: self._note(f"{data.get('which')} is near", "yellow"),
            "agent.todo.changed": self._todo_changed,
            "agent.memory.written": lambda data: self._note(
                f"noted for later{', if a person accepts it' if data.get('state') == 'waiting' else ''}"
            ),
            "agent.background.started": lambda data: self._note(
                f"{data.get('handle')} runs in the background; /background shows and stops it"
            ),
            "agent.background.finished": self._background_finished,
            "agent.subagent.started": lambda data: self._note(
                f"helper {data.get('index', 0) + 1} ({data.get('kind')}) works on: {one_line(str(data.get('task')), 120)}"
            ),
            "agent.subagent.finished": lambda data: self._note(
                f"helper {data.get('index', 0) + 1} ({data.get('kind')}) has ended: {data.get('status')}"
            ),
        }
        if thinking:
            handlers["agent.thought.streamed"] = self._thought_streamed
        self._handlers = handlers

    def show(self, frame: Frame) -> None:
        """Write the frame, if people need to see it."""
        handle = self._handlers.get(frame["type"])
        if handle is not None:
            data = frame.get("data")
            handle(data if isinstance(data, dict) else {})

    # --- what the agent says ----------------------------------------------------------------------

    def _text_streamed(self, data: Frame) -> None:
        self._stream("text", data)

    def _thought_streamed(self, data: Frame) -> None:
        self._stream("thought", data, style="dim")

    def _stream(self, kind: str, data: Frame, style: str = "") -> None:
        """Write what is new: after a cut the text so far comes again."""
        key = kind, str(data.get("call_id"))
        text, offset = str(data.get("text", "")), int(data.get("offset", 0))
        shown = self._shown.get(key, 0)
        new = text[max(0, shown - offset) :]
        if new:
            self._begin_text(shown == 0)
            self._screen.piece(new, style)
            self._shown[key] = max(shown, offset) + len(new)

    def _begin_text(self, is_first: bool) -> None:
        if is_first or self._pending_call:
            self._pending_call = ""
            self._screen.end_line()

    def _message_spoken(self, data: Frame) -> None:
        text = str(data.get("text", ""))
        shown = self._shown.pop(("text", str(data.get("call_id"))), 0)
        self._begin_text(shown == 0)
        self._screen.piece(text[shown:])
        self._screen.end_line()

    def _message_discarded(self, data: Frame) -> None:
        if self._shown.pop(("text", str(data.get("call_id"))), 0):
            self._note(f"the text above does not count: {data.get('cause')}", "yellow")

    def _message_received(self, data: Frame) -> None:
        if data.get("client_id") in self._state.own_messages:
            return
        author = data.get("author_name") or "somebody"
        self._screen.line(f"{author}: {data.get('text', '')}", "dim")

    # --- tool calls -------------------------------------------------------------------------------

    def _tool_called(self, data: Frame) -> None:
        subject = one_line(str(data.get("subject", "")), MAX_SUBJECT_CHARACTERS)
        self._calls[str(data.get("call_id"))] = str(data.get("tool", "?")), subject

    def _tool_started(self, data: Frame) -> None:
        call_id = str(data.get("call_id"))
        if not self._live:
            return
        self._screen.end_line()
        self._screen.piece(f"… {self._describe(call_id)}", "dim")
        self._pending_call = call_id

    def _tool_returned(self, data: Frame) -> None:
        call_id = str(data.get("call_id"))
        failed = bool(data.get("failed"))
        state = f"{float(data.get('seconds') or 0):.1f} s"
        if failed:
            state = f"{data.get('cause') or 'failed'}, {state}"
        elif data.get("exit_code"):
            state = f"exit code {data['exit_code']}, {state}"
        self._end_call(call_id, "✗" if failed else "✓", state, "red" if failed else "green")
        if failed:
            self._note(one_line(str(data.get("output", "")), MAX_OUTPUT_CHARACTERS))

    def _outcome_unknown(self, data: Frame) -> None:
        self._end_call(str(data.get("call_id")), "?", "outcome unknown", "yellow")

    def _end_call(self, call_id: str, sign: str, state: str, style: str) -> None:
        if self._pending_call == call_id and self._live:
            self._screen.piece(f"  {sign} {state}\n", style)
        else:
            self._screen.line(f"{sign} {self._describe(call_id)}  {state}", style)
        self._pending_call = ""
        self._calls.pop(call_id, None)

    def _describe(self, call_id: str) -> str:
        return "  ".join(filter(None, self._calls.get(call_id, ("a call", ""))))

    # --- approvals --------------------------------------------------------------------------------

    def _approval_requested(self, data: Frame) -> None:
        self._pending_call = ""
        what = str(data.get("subject") or json.dumps(data.get("arguments"), ensure_ascii=False))
        self._screen.line(f"! {data.get('tool')} waits for you: {what}", "yellow")
        for label, name in (("why", "why"), ("undo", "undo")):
            if data.get(name):
                self._screen.line(f"  {label}: {data[name]}", "dim")
        if data.get("subject") and data.get("arguments") and not data.get("diff"):
            self._screen.line(f"  {json.dumps(data['arguments'], ensure_ascii=False)}", "dim")
        lines = str(data.get("diff") or "").splitlines()
        for line in lines[:MAX_DIFF_LINES]:
            style = {"+": "green", "-": "red"}.get(line[:1], "")
            self._screen.line(f"  {line}", style)
        if len(lines) > MAX_DIFF_LINES:
            self._screen.line(f"  … {len(lines) - MAX_DIFF_LINES} more lines", "dim")

    def _approval_given(self, data: Frame) -> None:
        word = "denied" if data.get("decision") == "deny" else "approved"
        rest = ", and the rest" if data.get("decision") == "approve_rest" else ""
        self._note(f"{word}{rest} by {data.get('by') or 'a person'}")

    def _question_asked(self, data: Frame) -> None:
        self._pending_call = ""
        self._screen.line(f"? {data.get('question')}", "yellow")
        for number, choice in enumerate(data.get("choices") or (), 1):
            described = ": ".join(filter(None, (choice.get("label"), choice.get("description"))))
            self._screen.line(f"  {number}  {described}")

    def _plan_proposed(self, data: Frame) -> None:
        self._pending_call = ""
        self._screen.line(f"? plan: {data.get('title')}", "yellow")
        for number, step in enumerate(data.get("steps") or (), 1):
            self._screen.line(f"  {number}  {step}")

    def _plan_decided(self, data: Frame) -> None:
        word = "rejected" if data.get("decision") == "reject" else "approved"
        self._note(f"plan {word} by {data.get('by') or 'a person'}")

    # --- the conversation -------------------------------------------------------------------------

    def _paused(self, data: Frame) -> None:
        detail = f" ({data['detail']})" if data.get("detail") else ""
        reason = str(data.get("reason", "")).replace("_", " ")
        self._note(f"paused: {reason}{detail}. A message or /continue goes on.", "yellow")

    def _failed(self, data: Frame) -> None:
        step = f" Next step: {data['next_step']}" if data.get("next_step") else ""
        self._note(f"failed: {data.get('message')}{step}", "red")

    def _stopped(self, data: Frame) -> None:
        self._note(f"stopped: {str(data.get('reason', '')).replace('_', ' ')}", "yellow")

    def _model_retried(self, data: Frame) -> None:
        wait = float(data.get("wait_seconds") or 0)
        self._note(
            f"the model did not answer ({data.get('cause')}); again in {wait:.0f} s", "yellow"
        )

    def _todo_changed(self, data: Frame) -> None:
        items = [each for each in data.get("items") or () if isinstance(each, dict)]
        done = sum(each.get("state") == "done" for each in items)
        now = next((str(each.get("text")) for each in items if each.get("state") == "now"), "")
        self._note(f"to-do: {done} of {len(items)} done{f', now: {now}' if now else ''}")

    def _background_finished(self, data: Frame) -> None:
        named = f"{data.get('handle')} ({one_line(str(data.get('command', '')), MAX_SUBJECT_CHARACTERS)})"
        cause = str(data.get("cause") or "").replace("_", " ")
        by = f" by {data['by']}" if data.get("by") else ""
        end = f"{cause}{by}" if cause else f"exit code {data.get('exit_code')}"
        good = not cause and not data.get("exit_code")
        self._note(f"in the background: {named} ended, {end}", "dim" if good else "yellow")

    def _note(self, text: str, style: str = "dim") -> None:
        self._pending_call = ""
        self._screen.line(f"· {text}", style)
