"""Hypothesis strategies for event logs: valid ones, and some that no worker writes."""

from hypothesis import strategies as st

from paca import events
from paca.events import Event

TEXTS = st.sampled_from(["Hello", "", "  ", "Look again", "ä\u2400\n", "x" * 200])
CALLS = [f"call{n}" for n in range(6)]
REPLIES = [f"reply{n}" for n in range(4)]


@st.composite
def steps(draw: st.DrawFn, number: int) -> list[Event]:
    """One step as a worker writes it: usage, thoughts, text, calls and their results."""
    reply = f"model{number}"
    found: list[Event] = [
        events.UsageRecorded(
            call_id=reply,
            model="m",
            outcome=draw(st.sampled_from(["done", "failed", "cancelled"])),
            seen_seq=draw(st.integers(0, 60)),
        )
    ]
    if draw(st.booleans()):
        found.append(events.ThoughtRecorded(text="hm", call_id=reply, signature="s"))
    if draw(st.booleans()):
        found.append(
            events.MessageSpoken(text=draw(TEXTS), call_id=reply, truncated=draw(st.booleans()))
        )
    for position in range(draw(st.integers(0, 3))):
        call = f"{reply}-{position}"
        found.append(
            events.ToolCalled(call_id=call, tool="bash", arguments={}, model_call_id=reply)
        )
        if draw(st.booleans()):
            found.append(events.ToolStarted(call_id=call, boot_id="b"))
        if draw(st.booleans()):
            found.append(events.ToolReturned(call_id=call, output=draw(TEXTS)))
    return found


ANY_EVENT = st.one_of(
    st.builds(events.MessageReceived, text=TEXTS),
    st.builds(
        events.MessageSpoken,
        text=TEXTS,
        call_id=st.sampled_from(REPLIES),
        truncated=st.booleans(),
    ),
    st.builds(
        events.ThoughtRecorded,
        text=TEXTS,
        call_id=st.sampled_from(REPLIES),
        signature=st.sampled_from(["", "s"]),
    ),
    st.builds(events.ToolReturned, call_id=st.sampled_from(CALLS), output=TEXTS),
    st.builds(events.ToolOutcomeUnknown, call_id=st.sampled_from(CALLS), output=TEXTS),
    st.builds(events.ToolStarted, call_id=st.sampled_from(CALLS)),
    st.builds(
        events.UsageRecorded,
        call_id=st.sampled_from(REPLIES),
        model=st.just("m"),
        seen_seq=st.integers(0, 80),
    ),
    st.builds(events.LimitNeared, which=st.just("step_limit"), left=st.just(2)),
    st.builds(
        events.LimitReached, which=st.sampled_from(["step_limit", "time_limit"]), limit=st.just(5)
    ),
    st.builds(
        events.MessageDiscarded,
        call_id=st.sampled_from(REPLIES),
        cause=st.sampled_from(["cancelled", "overloaded"]),
        text=TEXTS,
    ),
    st.builds(
        events.TurnFinished,
        number=st.just(1),
        status=st.sampled_from(["stopped", "paused"]),
        reason=st.sampled_from(["by_person", "interrupted", "time_limit"]),
    ),
    st.builds(events.ConversationQueued, trigger=st.sampled_from(["continue", "chat_message"])),
    st.builds(events.ConversationInterrupted, by=TEXTS),
    st.builds(events.SkillLoaded, skill=st.just("s"), text=TEXTS, keyword=TEXTS),
    st.builds(
        events.MemoryWritten,
        entry=st.just("e"),
        about=st.just("agent"),
        text=TEXTS,
        state=st.just("waiting"),
    ),
    st.builds(events.InstructionsRead, path=st.just("AGENTS.md"), text=TEXTS),
    st.builds(events.FlagsChanged, plan=st.sampled_from([None, True, False]), by=TEXTS),
    st.builds(events.QuestionAsked, call_id=st.sampled_from(CALLS), question=TEXTS),
    st.builds(events.QuestionAnswered, call_id=st.sampled_from(CALLS), text=TEXTS),
    st.builds(events.PlanProposed, call_id=st.sampled_from(CALLS), title=TEXTS),
    st.builds(
        events.PlanDecided,
        call_id=st.sampled_from(CALLS),
        decision=st.sampled_from(["approve", "reject"]),
    ),
    st.builds(events.PlanChanged, call_id=st.sampled_from(CALLS)),
    st.builds(events.GuardNoticed, guard=st.just("g"), note=TEXTS),
    st.builds(events.UnknownEvent, original_type=st.just("x"), payload_as_read=st.just({})),
)


# Events that change what was closed before them, as a worker writes them and as it never does.
SHORTENING = st.one_of(
    st.builds(events.ContextTrimmed, results=st.integers(0, 9)),
    st.builds(
        events.ContextCompacted,
        summary=st.sampled_from(["Notes.", ""]),
        carried=st.sampled_from(["Carried.", ""]),
        upto_seq=st.integers(0, 80),
        tokens_before=st.just(9),
        tokens_after=st.just(3),
    ),
)


@st.composite
def shortened_logs(draw: st.DrawFn) -> list[Event]:
    """A log of ``logs`` in which the history is shortened at any positions."""
    found = draw(logs())
    for event in draw(st.lists(SHORTENING, min_size=1, max_size=4)):
        found.insert(draw(st.integers(0, len(found))), event)
    return found


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """A log: steps of workers, with messages of people and unexpected rows at any position.

    Each call id is requested only once, because the key of the calls table forbids a second.
    """
    found: list[Event] = []
    for number in range(draw(st.integers(0, 6))):
        found += draw(steps(number))
    for call in draw(st.lists(st.sampled_from(CALLS), unique=True)):
        position = draw(st.integers(0, len(found)))
        found.insert(
            position,
            events.ToolCalled(
                call_id=call,
                tool="bash",
                arguments={},
                model_call_id=draw(st.sampled_from(REPLIES)),
            ),
        )
    for event in draw(st.lists(ANY_EVENT, max_size=25)):
        found.insert(draw(st.integers(0, len(found))), event)
    return found
