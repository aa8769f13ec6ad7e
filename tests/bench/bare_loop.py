"""The baseline of a turn: a loop on the anthropic SDK's raw events that stores nothing.

Holds one conversation for each line it reads and answers with how many tool calls it carried out.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import anthropic

from paca.engine.tools.registry import Toolbox
from paca.engine.tools.think import Think

TOOLS: list[Any] = [
    {"name": spec.name, "description": spec.description, "input_schema": spec.arguments}
    for spec in Toolbox([Think()]).specs()
]


async def ask(client: anthropic.AsyncAnthropic, messages: list[Any]) -> list[dict[str, Any]]:
    """The blocks of the model's next reply."""
    stream = await client.messages.create(
        model="claude-test",
        max_tokens=8192,
        system="You are Rosa, a helpful agent.",
        tools=TOOLS,
        messages=messages,
        stream=True,
    )
    blocks: list[dict[str, Any]] = []
    raw = ""
    async for event in stream:
        if event.type == "content_block_start":
            blocks.append(_begun(event.content_block))
            raw = ""
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            blocks[-1]["text"] += event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            raw += event.delta.partial_json
        elif event.type == "content_block_stop" and blocks[-1]["type"] == "tool_use":
            blocks[-1]["input"] = json.loads(raw)
    return blocks


def _begun(block: Any) -> dict[str, Any]:
    if block.type == "text":
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}


async def run_conversation(client: anthropic.AsyncAnthropic, question: str) -> int:
    """Ask, act, observe until there is an answer; how many calls that took."""
    messages: list[Any] = [{"role": "user", "content": question}]
    carried_out = 0
    while True:
        blocks = await ask(client, messages)
        messages.append({"role": "assistant", "content": blocks})
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if not calls:
            return carried_out
        carried_out += len(calls)
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": "Noted."}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


async def main(base_url: str) -> None:
    client = anthropic.AsyncAnthropic(api_key="sk-test-1234", base_url=base_url, max_retries=0)
    while question := await asyncio.to_thread(sys.stdin.readline):
        count = await run_conversation(client, question.strip())
        sys.stdout.write(f"{count}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
