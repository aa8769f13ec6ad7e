"""Waits until an agent has answered, for a bounded time, and ends all waits when the web server stops."""

import asyncio
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

from paca.common import clock
from paca.common.errors import Conflict
from paca.mcp_server.call import Call
from paca.mcp_server.rest import Refused
from paca.mcp_server.results import pick

# Most clients give a call 60 seconds.
MAX_SECONDS = 50
MAX_WAITS = 10
# Each look is a request of the token, so later ones are rarer.
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS, GROWTH = 0.5, 3.0, 1.5
SPOKEN = "agent.message.spoken"
WORKING = {"queued", "running"}
# What a waiting conversation waits for that goes on by itself.
GOES_ON_AFTER = {"sandbox", "helpers"}
# A conversation that waits for this does not begin before a person acts.
NOT_ACTIVE = {"agent_paused", "agent_inactive"}
FIELDS = (
    *("id", "status", "reason", "detail", "activity", "waits_for", "title"),
    *("agent", "task_id", "last_seq"),
)
NEXT_STEPS = {
    "begun": "The agent has begun; do not start it again. not_waited says why its answer was not awaited.",
    "working": "It works on. Call wait_for_agent with this conversation again.",
    "agent_paused": "The agent is paused. It begins when a person sets it to active in Paca. Then wait again.",
    "agent_inactive": "The agent is inactive. It begins when a person sets it to active in Paca. Then wait again.",
    "waiting": "It waits for a person, who decides in Paca: list_requests shows for what. Then wait again.",
    "paused": "It is paused. A message with send_message lets it go on, unless the reason needs a person.",
    "failed": "It failed; detail says why. A person may have to repair it.",
}


class TooManyWaits(Conflict):
    """This token waits for 10 agents already; end one of the waits first."""

    code = "too_many_waits"


class Waits:
    """The waits of this process, by event loop, so that the end of a server ends only its own."""

    def __init__(self) -> None:
        self._stops: defaultdict[asyncio.AbstractEventLoop, set[asyncio.Event]] = defaultdict(set)
        self._of_caller: Counter[str] = Counter()
        self._ended: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()

    @contextmanager
    def one(self, caller: str) -> Iterator[asyncio.Event]:
        """Count one wait of the caller until the block ends; the event tells it to end early.

        Raises ``TooManyWaits``.
        """
        # guard: mcp-waits-per-token
        if self._of_caller[caller] >= MAX_WAITS:
            raise TooManyWaits
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        # A request that came before the end and waits only now would hold the web server up.
        # guard: mcp-waits-after-the-end
        if loop in self._ended:
            stop.set()
        self._of_caller[caller] += 1
        self._stops[loop].add(stop)
        try:
            yield stop
        finally:
            self._stops[loop].discard(stop)
            if not self._stops[loop]:
                del self._stops[loop]
            self._of_caller[caller] -= 1
            if not self._of_caller[caller]:
                del self._of_caller[caller]

    def end_all(self) -> None:
        """Let each wait of the running event loop answer now, also one that begins later: its server stops."""
        loop = asyncio.get_running_loop()
        self._ended.add(loop)
        for stop in self._stops.get(loop, ()):
            stop.set()


waits = Waits()


async def wait(call: Call, project: UUID, conversation: UUID, seconds: float, after: int) -> Any:
    """The state of a conversation and its answer, when the agent has ended its turn or the time is over.

    ``after``: messages of the agent up to this number of an event are no answer. Raises ``Refused``, also
    when the token is revoked meanwhile, and ``TooManyWaits``.
    """
    began, pause = clock.monotonic(), FIRST_LOOK_SECONDS
    with waits.one(call.rest.caller) as stop:
        found = await call.rest.get("projects", project, "conversations", conversation)
        while _is_working(found) and not stop.is_set():
            waited = clock.monotonic() - began
            if waited >= seconds:
                break
            await call.tell_progress(waited, seconds, _doing(found))
            with suppress(TimeoutError):
                async with asyncio.timeout(min(pause, seconds - waited)):
                    await stop.wait()
            pause = min(pause * GROWTH, LAST_LOOK_SECONDS)
            found = await _look_again(call, project, conversation, found)
    return await describe(call, project, found, after=after)


async def wait_after_start(
    call: Call, project: UUID, conversation: dict[str, Any], seconds: float, after: int = 0
) -> Any:
    """What ``wait`` gives, after the caller has given the agent work.

    The work has begun, so a wait that is refused is no error of the call: its caller would repeat it.
    """
    try:
        return await wait(call, project, UUID(conversation["id"]), seconds, after)
    except Refused as error:
        why = error.error
    except TooManyWaits as error:
        why = {"code": error.code, "detail": error.detail}
    return {
        "conversation": pick(conversation, *FIELDS),
        "is_working": True,
        "not_waited": why,
        "next_step": NEXT_STEPS["begun"],
    }


async def _look_again(call: Call, project: UUID, conversation: UUID, before: Any) -> Any:
    """The conversation as it is now; as it was if the token has made too many requests."""
    try:
        return await call.rest.get("projects", project, "conversations", conversation)
    except Refused as error:
        if error.error.get("code") == "throttled":
            return before
        raise


async def describe(call: Call, project: UUID, found: Any, *, after: int = 0) -> Any:
    """A conversation with the newest answer of its agent and what the caller may do next."""
    log = await call.rest.get(
        "projects", project, "conversations", found["id"], "events", type=SPOKEN, limit=1
    )
    spoken = [each["data"]["text"] for each in log["results"] if each["seq"] > after]
    state = "working" if _is_working(found) else found["waits_for"] or found["status"]
    next_step = {"next_step": NEXT_STEPS[state]} if state in NEXT_STEPS else {}
    # While it works, its last words are no answer.
    words = {} if not spoken else {"last_words" if state == "working" else "answer": spoken[-1]}
    return {
        "conversation": pick(found, *FIELDS),
        "is_working": state == "working",
        **words,
        **next_step,
    }


def _is_working(conversation: Any) -> bool:
    """Whether it goes on by itself: also while it waits for a sandbox or its helpers, but not if its agent is not active."""
    status, reason = conversation["status"], conversation["reason"]
    # guard: mcp-agent-that-is-not-active-does-not-work
    if conversation["waits_for"] in NOT_ACTIVE:
        return False
    return status in WORKING or (status == "waiting" and reason in GOES_ON_AFTER)


def _doing(conversation: Any) -> str:
    return str(conversation.get("activity") or conversation["status"])
