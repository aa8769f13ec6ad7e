"""The catalogue of event types: stored in the log of a conversation, or only shown live."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Event:
    """The base of all events. Its fields are facts: JSON values, no markup, no database objects.

    It compares and shows them for all: to make these methods for each class takes a start a tenth of a second.
    """

    type: ClassVar[str]
    durable: ClassVar[bool]
    facts: ClassVar[tuple[str, ...]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event) or type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.facts)
        return f"{type(self).__name__}({shown})"

    @classmethod
    def from_payload(cls, payload: dict[str, Any]) -> Self:
        """Load a stored payload. Unknown fields are ignored, missing ones take their default.

        Raises ``TypeError`` if a field without a default is missing.
        """
        return cls(**{name: value for name, value in payload.items() if name in cls.facts})

    def payload(self) -> dict[str, Any]:
        """The facts as a JSON object, as in the event's row and in the ``data`` of its frame."""
        return {name: getattr(self, name) for name in self.facts}

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.facts)


E = TypeVar("E", bound=Event)
EVENT_TYPES: dict[str, type[Event]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event(name: str, *, durable: bool = True) -> Callable[[type[E]], type[E]]:
    """Add a class to the catalogue. ``durable=False``: shown live, never stored.

    Raises ``ValueError`` if the catalogue has another class of this name.
    """

    def enter(cls: type[E]) -> type[E]:
        made = dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
        entry = made(cls)
        entry.type, entry.durable = name, durable
        entry.facts = tuple(fact.name for fact in dataclasses.fields(entry))
        if EVENT_TYPES.setdefault(name, entry) is not entry:
            raise ValueError(f"event type {name!r} is already in the catalogue")
        return entry

    return enter


def load(name: str, payload: dict[str, Any]) -> Event:
    """The event of a stored row. An unknown type or shape becomes an ``UnknownEvent`` with its payload."""
    cls = EVENT_TYPES.get(name)
    if cls is None:
        return UnknownEvent(original_type=name, payload_as_read=payload)
    try:
        return cls.from_payload(payload)
    except TypeError:  # a required fact is missing: an unknown version wrote it
        return UnknownEvent(original_type=name, payload_as_read=payload)


# --- conversation -------------------------------------------------------------------------------


@event("agent.conversation.queued")
class ConversationQueued(Event):
    """The conversation waits for a worker. ``trigger`` is the kind of its cause, ``by`` its author.

    ``held``: it waits until a person starts it first, because its agent begins no assigned work by itself. It is
    queued once more then."""

    trigger: str
    by: str = ""
    held: bool = False


@event("agent.conversation.started")
class ConversationStarted(Event):
    """A worker claimed the conversation. ``demo``: a script answers, not a model."""

    model: str
    demo: bool = False


@event("agent.conversation.paused")
class ConversationPaused(Event):
    """The conversation is paused until a message or Continue. ``reason`` is one of by_person,
    step_limit, token_budget, cost_budget, time_limit, rate_limited, model_unavailable, context_full (the
    conversation is longer than the model's window), stuck (the same step was repeated without progress), parked (the same step failed, or its
    worker was lost, several times in a row). ``limit`` is the amount of the limit that was reached: steps,
    tokens, dollars or seconds. Continue or a message gives the same amount again, but for the shared budgets.
    ``budget`` says which one is used: turn, conversation, family (what was left for the helpers of a call), team (what
    was left for a lead with its team), agent_day or project_month; the last two are shared by all conversations of the agent or project, and ``raised_by`` names members who can raise them. ``used`` is
    what was used of the budget."""

    reason: str
    by: str = ""
    detail: str = ""
    limit: float | None = None
    budget: str = ""
    used: float | None = None
    raised_by: list[str] = field(default_factory=list)


@event("agent.conversation.waiting")
class ConversationWaiting(Event):
    """The turn waits, and goes on by itself. ``reason`` is what it waits for."""

    reason: str
    detail: str = ""


@event("agent.conversation.resumed")
class ConversationResumed(Event):
    """The turn goes on. ``worker`` has taken it over from a lost worker, and nothing stored is lost;
    or the turn has got what it ``waited_for``."""

    worker: str = ""
    waited_for: str = ""


@event("agent.conversation.finished")
class ConversationFinished(Event):
    """The agent has answered every message."""

    reason: str = "answered"


@event("agent.conversation.failed")
class ConversationFailed(Event):
    """An error that a person has to repair: its ``code``, a ``message`` and the ``next_step``."""

    code: str
    message: str
    next_step: str = ""


@event("agent.conversation.stopped")
class ConversationStopped(Event):
    """A person stopped the conversation or unassigned its agent from the task, or its agent, project, task
    or doc was removed: ``reason`` is by_person, unassigned, agent_removed, project_deleted, task_deleted
    or doc_deleted. A teammate that does not answer its lead ends with shutdown."""

    reason: str = "by_person"
    by: str = ""


@event("agent.conversation.interrupted")
class ConversationInterrupted(Event):
    """A person interrupted the turn. The person's message starts the next one."""

    by: str = ""


@event("agent.conversation.archived")
class ConversationArchived(Event):
    """A person moved the conversation to the archive, or with ``archived=False`` back from it.

    ``agent.conversation.queued`` brings it back too: a message to the agent, or Continue. ``files_go``: its sandbox is
    ephemeral, so its files are removed unless it is brought back in time.
    """

    archived: bool = True
    by: str = ""
    files_go: bool = False


@event("agent.flags.changed")
class FlagsChanged(Event):
    """A person changed how the conversation runs from the next turn on. A flag that is null did not change.

    ``tracing``: whether the full requests and replies of its model calls are kept, for those with `traces:read`.
    ``plan``: whether it is in plan mode, in which only tools that read run until a person approves a plan; a running
    turn obeys from its next call on. ``teams``: whether its agent may lead a team. ``by`` is empty if a setting of the agent says so.
    """

    tracing: bool | None = None
    plan: bool | None = None
    teams: bool | None = None
    by: str = ""


@event("agent.conversation.forked")
class ConversationForked(Event):
    """The events above are a copy: those of the conversation ``conversation_id`` up to its event ``seq``.

    Their usage belongs to that conversation. The sandbox is another one. ``files`` says which files it begins with:
    later (those of that conversation, copied when the sandbox is first used: see sandbox.files_copied), none (there
    were none at that event), deleted (they are deleted since), or empty for a fork of an earlier version, which has none.
    """

    conversation_id: str
    seq: int
    title: str = ""
    by: str = ""
    files: str = ""


@event("agent.turn.started")
class TurnStarted(Event):
    """The agent starts to answer one or more triggers. Numbers count from 1."""

    number: int
    triggers: list[str] = field(default_factory=list)


@event("agent.turn.finished")
class TurnFinished(Event):
    """The turn has ended with this status and reason, after ``seconds``.

    ``usage`` of all its model calls: input, output, cache_read, cache_write, calls, unpriced_calls,
    priced_cost_usd (the dollars of the calls with a known price), and cost_usd (null if one is unknown).
    """

    number: int
    status: str
    reason: str
    steps: int = 0
    seconds: float = 0.0
    usage: dict[str, Any] | None = None


@event("agent.title.changed")
class TitleChanged(Event):
    """The title, made from the first message or written by a person; empty if that message was taken back.
    ``model`` has written it after the first answer; it is empty if no model has."""

    title: str
    by: str = ""
    model: str = ""


# --- messages ---------------------------------------------------------------------------------------


@event("agent.message.received")
class MessageReceived(Event):
    """A message to the agent. ``client_id`` is the id that the sender gave it.

    ``trigger`` is its cause: chat_message, task_assigned, comment_mention, description_write, execute, check_in, helper or teammate.
    Paca has written the text of the other causes from the task, and ``comment_id`` names the comment
    that mentions the agent. ``author`` is the member that has caused it. ``effort`` is quick, standard or
    determined; empty is standard. ``teammate`` is the name of the teammate that has sent it. ``attachments`` are the
    paths of files in the workspace that the sender has put there for the agent.
    """

    text: str
    author_id: str = ""
    author_name: str = ""
    client_id: str = ""
    on_busy: str = "queue"
    trigger: str = "chat_message"
    comment_id: str = ""
    effort: str = ""
    teammate: str = ""
    attachments: list[str] = field(default_factory=list)


@event("agent.message.edited")
class MessageEdited(Event):
    """The author changed a message that the agent had not read: that of the event ``event_seq``."""

    event_seq: int
    text: str
    by: str = ""


@event("agent.message.withdrawn")
class MessageWithdrawn(Event):
    """The author took a message back that the agent had not read: that of the event ``event_seq``."""

    event_seq: int
    by: str = ""


@event("agent.message.spoken")
class MessageSpoken(Event):
    """A message of the agent. It replaces the live text of the model call ``call_id``.

    ``truncated``: the model reached its output limit here, and is asked to go on.
    """

    text: str
    call_id: str = ""
    model: str = ""
    demo: bool = False
    truncated: bool = False


@event("agent.message.discarded")
class MessageDiscarded(Event):
    """Live text that did not become a message. ``text`` is for people, and empty if it is not kept."""

    call_id: str
    cause: str
    text: str = ""


@event("agent.text.streamed", durable=False)
class TextStreamed(Event):
    """A piece of the answer as it is written, at ``offset`` characters of this model call's text."""

    call_id: str
    offset: int
    text: str


@event("agent.thought.recorded")
class ThoughtRecorded(Event):
    """The reasoning of the model. ``signature`` and ``redacted`` go back to the provider unread, and
    ``attached`` to the family of models that it is filed under."""

    text: str
    call_id: str = ""
    signature: str = ""
    redacted: str = ""
    seconds: float = 0.0
    attached: dict[str, Any] = field(default_factory=dict)


@event("agent.thought.streamed", durable=False)
class ThoughtStreamed(Event):
    """A piece of reasoning as it is written, at ``offset`` characters of this model call's reasoning."""

    call_id: str
    offset: int
    text: str


# --- model --------------------------------------------------------------------------------------


@event("agent.model.retried")
class ModelRetried(Event):
    """Attempt ``attempt`` of a model call failed because of ``cause``. The next starts in ``wait_seconds``."""

    call_id: str
    attempt: int
    wait_seconds: float
    cause: str
    code: str = ""


@event("agent.model.switched")
class ModelSwitched(Event):
    """The model failed because of ``cause`` before it had shown anything, so the agent's fallback goes on with the turn.

    The next turn tries the first model again; ``until`` then, in seconds since 1970, once and without repeats.
    """

    from_model: str
    to_model: str
    cause: str
    code: str = ""
    until: float = 0.0


@event("agent.model.noticed")
class ModelNoticed(Event):
    """A remark on a model's answer for people, such as ``unknown_stop`` (it stopped for a reason that is
    not known), ``request_read_in_part`` (the server did not read all of the request), ``only_reasoning``
    (its reasoning is shown in place of an answer) or ``history_form`` (the ``server``, a digest of its address and
    the model, takes the history as text alone until ``until``, in seconds since 1970; 0: no longer)."""

    code: str
    text: str
    call_id: str = ""
    server: str = ""
    until: float = 0.0


@event("agent.usage.recorded")
class UsageRecorded(Event):
    """The usage of one attempt of a model call, however it ended.

    ``outcome`` is done, failed or cancelled. ``cost_usd`` is what the provider
    reports, else what the price table says, and null if neither is known.
    ``seen_seq`` is the last event in the history that the model was sent. A message above it is newer
    than the reply, and comes after it in the history whatever its number.
    Tokens are null if the server did not report them; limits then count ``estimated_tokens`` and
    ``estimated_usd``, which are not shown.
    ``purpose`` is turn for a reply of the conversation, compaction for a summary of it, title for its title,
    and memory for what is worth keeping of it.
    ``context``: what filled the request, as in the ``context`` of the conversation; null if it was not the
    last attempt. ``request_characters``: the length of its system prompt, tools and messages.
    """

    call_id: str
    model: str
    attempt: int = 1
    outcome: str = "done"
    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    cost_usd: float | None = None
    seen_seq: int = 0
    seconds: float = 0.0
    estimated_tokens: int = 0
    estimated_usd: float = 0.0
    purpose: str = "turn"
    context: dict[str, Any] | None = None
    request_characters: int = 0


# --- tools --------------------------------------------------------------------------------------


@event("agent.tool.called")
class ToolCalled(Event):
    """The model calls a tool. ``subject`` is a short text for its card, such as ``src/app.py``.

    ``problem``: why the arguments could not be read; the call is not run then. ``attached``: as in
    ``agent.thought.recorded``.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any]
    effect: str = "opaque"
    subject: str = ""
    model_call_id: str = ""
    problem: str = ""
    attached: dict[str, Any] = field(default_factory=dict)


@event("agent.tool.started")
class ToolStarted(Event):
    """The call is about to run: from here on it may have had an effect. ``boot_id``: of the runner."""

    call_id: str
    boot_id: str = ""


@event("agent.tool.progressed", durable=False)
class ToolProgressed(Event):
    """New output of a running command, at ``offset`` characters of its output.

    Output that comes faster than people read is left out, up to its newest lines: the next ``offset`` is then
    beyond the end of the text before. The result has the output.
    """

    call_id: str
    offset: int
    text: str


@event("agent.tool.returned")
class ToolReturned(Event):
    """The outcome of a tool call. ``cause`` is empty, or why the call did not end by itself:
    invalid, unknown_tool, refused, failed, timed_out, out_of_memory, too_many_processes, disk_full, cancelled,
    sandbox_lost, denied (no person has approved it).

    ``file``: the file in the sandbox that has the whole output, if it is truncated here.
    ``full_output_bytes``: the size of the whole output, if people can download it; else 0.
    ``images`` are those in the output, each with its ``kind`` (image/png, image/jpeg, image/gif or image/webp) and its
    ``data`` in base64.
    """

    call_id: str
    output: str
    failed: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    truncated: bool = False
    file: str = ""
    cause: str = ""
    full_output_bytes: int = 0
    images: list[dict[str, str]] = field(default_factory=list)


@event("agent.tool.outcome_unknown")
class ToolOutcomeUnknown(Event):
    """The worker or the sandbox was lost while the call ran. It was not run again."""

    call_id: str
    output: str
    reason: str = ""


# --- people who decide --------------------------------------------------------------------------


@event("agent.approval.requested")
class ApprovalRequested(Event):
    """The call waits for a person. ``rule`` is the name of the reason, ``why`` the sentence for people,
    ``effect`` that of the tool, ``undo`` how the call can be undone, if that is known. ``diff`` are the lines
    that an edit takes away and adds. Without an answer until ``deadline`` (a time with its offset) it is not run.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any]
    subject: str = ""
    rule: str = ""
    why: str = ""
    effect: str = "opaque"
    undo: str = ""
    diff: str = ""
    deadline: str = ""


@event("agent.approval.given")
class ApprovalGiven(Event):
    """A person has decided on the call: ``decision`` is approve, deny or approve_rest (this call and the
    later ones of the conversation). ``arguments`` are those that the person has changed the call to, else null.
    ``seconds``: how long the call has waited."""

    call_id: str
    decision: str
    by: str = ""
    by_id: str = ""
    reason: str = ""
    arguments: dict[str, Any] | None = None
    seconds: float = 0.0


@event("agent.approval.expired")
class ApprovalExpired(Event):
    """Nobody has decided or answered in time. The call is not run. ``kind`` is what the call waited for:
    approval, question or plan."""

    call_id: str
    seconds: float = 0.0
    kind: str = "approval"


@event("agent.approval.superseded")
class ApprovalSuperseded(Event):
    """Something came before a decision or an answer, and the call is not run. ``cause`` is message, stop or
    plan_mode (plan mode was switched off while a plan waited). ``kind`` is as in ``agent.approval.expired``."""

    call_id: str
    cause: str
    by: str = ""
    seconds: float = 0.0
    kind: str = "approval"


@event("agent.approval.revoked")
class ApprovalRevoked(Event):
    """The rest of the conversation is no longer approved: later calls ask again."""

    by: str = ""


@event("agent.question.asked")
class QuestionAsked(Event):
    """The agent asks the people of the project, and waits. ``choices`` are 2 to 6 objects with a ``label`` and a
    ``description`` that may be empty, or none: then only free text answers it. ``deadline`` is as in
    ``agent.approval.requested``."""

    call_id: str
    question: str
    choices: list[dict[str, str]] = field(default_factory=list)
    deadline: str = ""


@event("agent.question.answered")
class QuestionAnswered(Event):
    """A person has answered. ``text`` is the label of a choice, or free text. ``seconds``: how long it took."""

    call_id: str
    text: str
    by: str = ""
    by_id: str = ""
    seconds: float = 0.0


@event("agent.plan.proposed")
class PlanProposed(Event):
    """The agent proposes a plan, and waits. ``steps`` are texts, ``deadline`` is as in
    ``agent.approval.requested``."""

    call_id: str
    title: str
    steps: list[str] = field(default_factory=list)
    deadline: str = ""


@event("agent.plan.decided")
class PlanDecided(Event):
    """A person has decided on a plan: ``decision`` is approve or reject. An approval ends plan mode. ``steps``
    are those of the plan from here on, each with its ``text`` and the ``state`` open; ``changed``: the person has
    changed them. The model reads the ``feedback``. ``seconds``: how long the plan has waited."""

    call_id: str
    decision: str
    title: str = ""
    steps: list[dict[str, str]] = field(default_factory=list)
    changed: bool = False
    feedback: str = ""
    by: str = ""
    by_id: str = ""
    seconds: float = 0.0


@event("agent.plan.changed")
class PlanChanged(Event):
    """The agent has begun or done a step of the approved plan. ``steps`` are all of them, each with its ``text``
    and its ``state``: open, started or done."""

    call_id: str
    title: str = ""
    steps: list[dict[str, str]] = field(default_factory=list)


# --- work ---------------------------------------------------------------------------------------


@event("agent.todo.changed")
class TodoChanged(Event):
    """The agent has written its to-do list, which takes the place of the one before. Each of the ``items`` has a
    ``text`` and a ``state``: open, now (at most one has it) or done. ``since`` is when the present item was begun (a
    time with its offset; empty if no item has the state now). ``call_id``: the call that wrote it."""

    items: list[dict[str, Any]] = field(default_factory=list)
    since: str = ""
    call_id: str = ""


# --- context ------------------------------------------------------------------------------------


@event("agent.context.trimmed")
class ContextTrimmed(Event):
    """The conversation did not fit into the model's window. From here on the oldest ``results`` tool results
    before this event are left out of the model's requests; the log keeps them. ``window``: the size of the
    window in tokens, if the server or the settings told it. ``refused``: the server has refused a request
    for its length."""

    results: int
    window: int | None = None
    model: str = ""
    refused: bool = False


@event("agent.context.compaction_requested")
class ContextCompactionRequested(Event):
    """A person wants a summary in place of what came before. It is made before the next model call.
    ``focus``: what the summary must keep. ``by`` is the name of the person."""

    focus: str = ""
    by: str = ""


@event("agent.context.compacting")
class ContextCompacting(Event):
    """A model writes a summary of what came before: part ``part`` of ``parts``."""

    part: int = 1
    parts: int = 1


@event("agent.context.compacted")
class ContextCompacted(Event):
    """From here on the model reads ``summary`` and ``carried`` in place of the events up to ``upto_seq``,
    which end with whole pairs of call and result. The log keeps them.

    ``carried``: what Paca itself has kept, such as the first and the newest message. ``model`` has written
    the summary; it is empty if no model could, and the summary then only says what was left out.
    ``tokens_before`` and ``tokens_after`` are the estimated sizes of the next request. ``by`` is agent,
    person or automatic, ``focus`` what the summary had to keep. ``window`` and ``refused`` are as in
    ``agent.context.trimmed``, and ``context`` is as in ``agent.usage.recorded``.
    """

    summary: str
    upto_seq: int
    tokens_before: int
    tokens_after: int
    focus: str = ""
    by: str = "automatic"
    model: str = ""
    carried: str = ""
    window: int | None = None
    refused: bool = False
    context: dict[str, Any] | None = None


@event("agent.context.compaction_skipped")
class ContextCompactionSkipped(Event):
    """A summary that a person or the agent wanted was not made: ``reason`` is too_little (it would hardly be
    shorter than what it replaces)."""

    reason: str
    by: str = ""


@event("agent.skill.loaded")
class SkillLoaded(Event):
    """A message called for a skill of the agent, whose ``text`` the model reads from here on, once in a
    conversation. ``keyword``: the words of the message; empty if it names the skill as /name. ``files``: paths
    below the folder of the skill in the sandbox."""

    skill: str
    text: str
    keyword: str = ""
    files: list[str] = field(default_factory=list)


@event("agent.memory.written")
class MemoryWritten(Event):
    """The agent noted something for later conversations. ``about``: agent (its own memory) or project. ``state`` is
    accepted, or waiting for a person. ``replaces`` is the text of the entry that ``text`` replaces; an empty ``text``
    takes that entry out."""

    entry: str
    about: str
    text: str
    state: str
    replaces: str = ""


@event("agent.instructions.read")
class InstructionsRead(Event):
    """A sandbox started, and its workspace has a file for agents whose ``text`` the model has not been shown:
    it is shown from here on, as data. ``truncated``: the file is longer."""

    path: str
    text: str
    truncated: bool = False


@event("agent.limit.neared")
class LimitNeared(Event):
    """A limit is close, and the model is told to finish. ``which``: as in the reasons of paused. ``budget``: as in
    paused."""

    which: str
    left: float
    budget: str = ""


@event("agent.limit.reached")
class LimitReached(Event):
    """A limit is reached. ``summary``: the model is asked for one, without tools. ``budget``: as in paused."""

    which: str
    limit: float
    budget: str = ""
    summary: bool = False


@event("agent.guard.noticed")
class GuardNoticed(Event):
    """The model did something that leads nowhere, and is told so in ``note``. ``guard`` is
    text_tool_call (a tool call written into the answer), only_reasoning (no answer after its reasoning),
    promised_work (work announced and not done, where nobody watches) or repeated_step."""

    guard: str
    note: str


@event("agent.reminder.given")
class ReminderGiven(Event):
    """The model is reminded by the agent's settings. ``kind`` is hint (a text that is given once a turn) or
    verification (to check its work before the turn ends). ``text`` is what it is told."""

    kind: str
    text: str


# --- background commands ------------------------------------------------------------------------


@event("agent.background.started")
class BackgroundStarted(Event):
    """The command of the call ``call_id`` runs in the background, and nobody waits for it. ``handle`` is its name in
    this conversation, such as bg1. It may run for ``timeout_seconds`` from here. ``moved``: it was a call of bash
    that reached its time limit. ``boot_id``: of the runner that has it."""

    call_id: str
    handle: str
    command: str
    boot_id: str = ""
    timeout_seconds: float = 0.0
    moved: bool = False


@event("agent.background.progressed", durable=False)
class BackgroundProgressed(Event):
    """How a background command stands: its newest ``output``, and for how many seconds it runs."""

    call_id: str
    output: str
    seconds: float = 0.0


@event("agent.background.finished")
class BackgroundFinished(Event):
    """A background command has ended, with the beginning and the end of its ``output``. ``cause`` is empty, or why it
    did not end by itself: timed_out, cancelled (``by`` a person, or by the agent), out_of_memory, disk_full,
    too_many_processes, or lost: its sandbox ended, so nothing else is known. ``file`` in the sandbox has the whole
    output if it is ``truncated`` here. ``told``: the result of a call tells the model, else a note does."""

    call_id: str
    handle: str
    command: str = ""
    exit_code: int | None = None
    cause: str = ""
    seconds: float = 0.0
    output: str = ""
    truncated: bool = False
    file: str = ""
    by: str = ""
    told: bool = False


# --- helpers ------------------------------------------------------------------------------------


@event("agent.subagent.started")
class SubagentStarted(Event):
    """A helper works on the piece ``index`` of a call of ``delegate``. ``subagent_id`` is the helper's conversation,
    whose log begins with the same event. ``kind`` is general, explore, plan, code or research. ``rest_approved_by``:
    the person who had approved the rest of the conversation that started it."""

    call_id: str
    subagent_id: str
    index: int
    kind: str
    task: str
    rest_approved_by: str = ""


@event("agent.subagent.progressed", durable=False)
class SubagentProgressed(Event):
    """A helper does something else now. ``status``, ``reason`` and ``activity`` are those of its conversation;
    ``tool`` and ``subject`` describe its newest call, empty if it is the same as before."""

    subagent_id: str
    status: str
    activity: str = ""
    tool: str = ""
    subject: str = ""
    seq: int = 0


@event("agent.subagent.finished")
class SubagentFinished(Event):
    """A helper works no longer: ``status`` and ``reason`` are those of its conversation. ``summary`` is its final
    answer, cut if it is long. ``usage`` has the tokens and dollars that count for the budget of the conversation:
    ``tokens``, ``cost_usd`` and ``unpriced_calls``."""

    call_id: str
    subagent_id: str
    index: int
    kind: str
    status: str
    reason: str = ""
    summary: str = ""
    truncated: bool = False
    usage: dict[str, Any] = field(default_factory=dict)


@event("agent.subagents.released")
class SubagentsReleased(Event):
    """The turn waits no longer for the helpers of a call. ``cause`` is done, or what came first: stop or message.
    ``seconds`` is how long it has waited."""

    call_id: str
    cause: str = "done"
    by: str = ""
    seconds: float = 0.0


# --- teams --------------------------------------------------------------------------------------


@event("agent.teammate.changed")
class TeammateChanged(Event):
    """A teammate does something else now. ``state`` is working, idle or ended; ``why`` says why it has ended: idle,
    shutdown, stopped, failed, limit or unreviewed. ``conversation_id`` is its own conversation, ``task`` the key of
    the task that it has claimed. ``usage`` is what it has used since it was told last: ``tokens`` and ``cost_usd``.
    Its own log begins with the event too. ``rest_approved_by``: the person who had approved the rest of the lead."""

    name: str
    role: str
    state: str
    conversation_id: str = ""
    task: str = ""
    why: str = ""
    detail: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    rest_approved_by: str = ""


@event("agent.protocol.requested")
class ProtocolRequested(Event):
    """Lead and teammate ask each other something. ``kind`` is shutdown (the lead asks the teammate to end) or
    plan_review (the teammate asks the lead to approve its plan). ``deadline`` is a time with its offset."""

    request_id: str
    kind: str
    teammate: str
    text: str = ""
    deadline: str = ""


@event("agent.protocol.resolved")
class ProtocolResolved(Event):
    """A request has its answer: ``decision`` is approved, rejected, expired (there was none in time), or ended (the
    teammate has ended before)."""

    request_id: str
    kind: str
    teammate: str
    decision: str
    text: str = ""


@event("agent.board.changed")
class BoardChanged(Event):
    """The plan of the team: each task with its key as ``task``, ``title``, ``state`` (open, claimed, closed or done),
    and the name of the ``teammate`` that has or had it."""

    tasks: list[dict[str, Any]] = field(default_factory=list)


# --- sandbox ------------------------------------------------------------------------------------


@event("agent.sandbox.starting")
class SandboxStarting(Event):
    """A sandbox starts on this backend."""

    backend: str


@event("agent.sandbox.progressed")
class SandboxProgressed(Event):
    """The start of a sandbox is slow: it is in this ``phase`` (as in sandbox.started) after ``seconds``."""

    phase: str
    seconds: float = 0.0


@event("agent.sandbox.started")
class SandboxStarted(Event):
    """The sandbox is ready. ``boot_id`` identifies this start of its runner.

    ``phases``: the seconds of each phase (check, copy, queue, create, start).
    """

    backend: str
    boot_id: str
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)


@event("agent.sandbox.paused")
class SandboxPaused(Event):
    """The sandbox was idle. Its processes are frozen, and go on with the next message."""


@event("agent.sandbox.resumed")
class SandboxResumed(Event):
    """A paused sandbox goes on where it was paused, with the same ``boot_id``."""

    boot_id: str
    seconds: float = 0.0


@event("agent.sandbox.lost")
class SandboxLost(Event):
    """The sandbox was lost, and Paca did not remove it. ``cause`` says why in words, if it is known.

    ``end`` is the cause for programs: out_of_memory, disk_full, killed, exited, retired, removed,
    exhausted or silent. ``exit_code`` is that of its main program.
    """

    cause: str
    end: str = ""
    exit_code: int | None = None


@event("agent.sandbox.removed")
class SandboxRemoved(Event):
    """The sandbox was removed. ``kept``: its files still exist."""

    kept: bool = True


@event("agent.sandbox.files_copied")
class SandboxFilesCopied(Event):
    """The files of the conversation ``conversation_id`` were copied into the workspace of this fork, as they were at
    ``copied_at`` (a time with its offset): so many ``files``, folders included, of ``bytes``.

    ``commands_since``: the commands and file edits there that ran after the event of the fork. Without any the files
    are those of that event. ``changed`` files and folders were written to during the copy, and may be incomplete.
    ``skipped`` ones cannot be copied, such as sockets. ``error``: why there are no files, with the next step; the
    fork goes on without them. ``told`` says all this to people.
    """

    conversation_id: str = ""
    backend: str = ""
    copied_at: str = ""
    files: int = 0
    bytes: int = 0
    commands_since: int = 0
    changed: int = 0
    skipped: int = 0
    error: str = ""
    told: str = ""


# --- MCP servers --------------------------------------------------------------------------------


@event("agent.mcp.unavailable")
class McpUnavailable(Event):
    """The MCP server of this name cannot be used, and ``error`` says why. The run goes on without it, and tries it again
    later."""

    server: str
    error: str = ""


@event("agent.mcp.available")
class McpAvailable(Event):
    """An MCP server that was unavailable is there again."""

    server: str


# --- repositories ---------------------------------------------------------------------------------


@event("agent.file.changed")
class FileChanged(Event):
    """The person ``by`` has uploaded the file ``path`` of ``size`` bytes to the workspace; ``change`` is always uploaded.
    What agents change is told by the ends of their calls, and listed by ``files/changes/`` of the API."""

    path: str
    change: str = "uploaded"
    size: int = 0
    by: str = ""


@event("agent.repository.cloned")
class RepositoryCloned(Event):
    """The ``repository`` of this name was cloned into ``path`` of the workspace. ``branch`` is the branch that is checked
    out, and ``commit`` the commit it was at. ``setup``: what its setup script did, if no result of a call tells it."""

    repository_id: str
    repository: str
    branch: str
    commit: str
    path: str = ""
    setup: str = ""


@event("agent.repository.unavailable")
class RepositoryUnavailable(Event):
    """The ``repository`` of this name was to be cloned before the first turn, and was not. ``problem``: why, in words."""

    repository_id: str
    repository: str
    problem: str


@event("agent.repository.pushed")
class RepositoryPushed(Event):
    """``branch`` of the ``repository`` of this name was pushed, and is at ``commit`` now. ``url``: its page."""

    repository_id: str
    repository: str
    branch: str
    commit: str
    url: str = ""


@event("agent.pull_request.opened")
class PullRequestOpened(Event):
    """A pull request of ``branch`` into ``base`` was opened, or was open already. ``url``: its page."""

    repository_id: str
    repository: str
    branch: str
    base: str
    number: int
    url: str
    title: str = ""


@event("agent.pull_request.changed")
class PullRequestChanged(Event):
    """The git server told that a pull request of this conversation is ``merged``, ``closed`` or ``open`` again. ``by``:
    the name of the account there."""

    repository_id: str
    repository: str
    branch: str
    number: int
    url: str
    state: str
    by: str = ""


@event("agent.event.unknown")
class UnknownEvent(Event):
    """A stored event of a type or shape that this version does not know, with its whole payload."""

    original_type: str
    payload_as_read: dict[str, Any]
