"""What the input of a conversation costs with a prompt cache, in tokens at the full price. Nothing is timed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from paca import events
from paca.engine.context import trimming
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import Message, Request, ToolResult
from tests.bench.figures import Figure
from tests.engine.world import World, any_command, tool_steps
from tests.support.model_script import Scripted, calls, says
from tests.support.prompt_cache import CachingLLM

TURNS = 20
STEPS = 50
RESULT_TOKENS = 1_500
WORDS = (
    "I look at the next part of the log, to see where the totals begin to differ. " * 4
)  # in each step
WINDOW = 60_000
KEPT_EACH_TURN = 3
THOUSAND = 1_000


def twenty_turns(_folder: Path) -> Figure:
    """Twenty turns with a command each, with the cache and without."""
    llm = run_twenty_turns()
    return Figure(
        "prompt-cache",
        llm.cost / THOUSAND,
        llm.tokens / THOUSAND,
        "k tokens",
        f"with a prompt cache / without, {TURNS} turns; {llm.read / llm.tokens:.1%} read from it",
        most_times=0.2,
    )


def batched_trimming(_folder: Path) -> Figure:
    """Fifty steps that outgrow the window: old results are left out in batches, or in each step."""
    ours, each_step = run_fifty_steps(), run_fifty_steps(in_each_step=True)
    return Figure(
        "trimming",
        ours.cost / THOUSAND,
        each_step.cost / THOUSAND,
        "k tokens",
        f"old results left out in batches / in each step, {STEPS} results of {RESULT_TOKENS} tokens",
        most_times=0.5,
    )


def run_twenty_turns() -> CachingLLM:
    """The model after twenty turns with a command and an answer each."""
    llm = CachingLLM(_a_step_and_an_answer)
    world = World(llm=llm, commands={"ls": "a.txt\n" * 40})

    async def talk() -> None:
        for number in range(TURNS):
            await world.ask(f"Question {number}: what is there, and {'why ' * 20}")
            assert world.status == "finished/answered", world.outcome

    asyncio.run(talk())
    return llm


def run_fifty_steps(*, in_each_step: bool = False) -> CachingLLM:
    """The model after fifty steps, each with a long result.

    ``in_each_step`` leaves out all results but the newest three in every request, whatever the window is.
    """
    replies = iter([*(says(WORDS) + step for step in tool_steps(STEPS)), says("Done.")])
    shorten = {"shorten": _all_but_the_newest} if in_each_step else {}
    llm = CachingLLM(lambda _request: next(replies), **shorten)
    world = World(
        llm=llm,
        commands=any_command("word " * (RESULT_TOKENS * 4 // 5)),
        context_window=1_000_000 if in_each_step else WINDOW,
        limits=TurnLimits(steps=STEPS + 10),
    )
    asyncio.run(world.ask("Go"))
    assert world.status == "finished/answered", world.outcome
    assert in_each_step or world.find(events.ContextTrimmed)
    return llm


def _all_but_the_newest(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    results = sum(isinstance(b, ToolResult) for message in messages for b in message.blocks)
    return trimming.leave_out(messages, max(0, results - KEPT_EACH_TURN))


def _a_step_and_an_answer(request: Request) -> Scripted:
    if any(isinstance(block, ToolResult) for block in request.messages[-1].blocks):
        return says("There is a.txt, and nothing else.")
    return calls(bash="ls")
