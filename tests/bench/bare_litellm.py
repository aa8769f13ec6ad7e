"""The baseline of many conversations: a loop on litellm's own streams that stores nothing.

Reads a line with how many conversations to hold at once, and a question; answers with how many tool
calls it carried out in all.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from paca.engine.llm.litellm import library
from paca.engine.llm.openai.encoder import _tool
from paca.engine.tools.registry import Toolbox
from paca.engine.tools.think import Think

TOOLS = [_tool(spec) for spec in Toolbox([Think()]).specs()]


async def ask(base_url: str, messages: list[Any]) -> dict[str, Any]:
    """The model's next reply, as litellm hands its pieces on."""
    import litellm

    stream = await litellm.acompletion(
        model="openai/gpt-test",
        api_base=base_url,
        api_key="sk-test-1234",
        messages=messages,
        tools=TOOLS,
        max_tokens=8192,
        stream=True,
        num_retries=0,
    )
    text, calls = "", []
    async for chunk in stream:
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for piece in delta.tool_calls or []:
            if piece.index == len(calls):
                calls.append({"id": piece.id, "name": piece.function.name, "arguments": ""})
            calls[piece.index]["arguments"] += piece.function.arguments or ""
    reply: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        functions = [{"name": c["name"], "arguments": c["arguments"]} for c in calls]
        reply["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
    return reply


async def run_conversation(base_url: str, question: str) -> int:
    """Ask, act, observe until there is an answer; how many calls that took."""
    messages: list[Any] = [
        {"role": "system", "content": "You are Rosa, a helpful agent."},
        {"role": "user", "content": question},
    ]
    carried_out = 0
    while True:
        reply = await ask(base_url, messages)
        messages.append(reply)
        calls = reply.get("tool_calls", [])
        if not calls:
            return carried_out
        for call in calls:
            json.loads(call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "Noted."})
        carried_out += len(calls)


async def main(base_url: str) -> None:
    await library.load()
    while line := await asyncio.to_thread(sys.stdin.readline):
        count, _, question = line.strip().partition(" ")
        held = (run_conversation(base_url, f"{question} {number}") for number in range(int(count)))
        sys.stdout.write(f"{sum(await asyncio.gather(*held))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
