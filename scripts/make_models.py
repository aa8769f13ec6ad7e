"""Write paca/engine/llm/models.json: what litellm's locked release knows of providers and prices.

    .venv/bin/python scripts/make_models.py

To be run after litellm was raised in requirements.in. Each provider is asked once, at a server of
this program: what cannot be asked with a key and an address alone is left out.
"""

import asyncio
import json
import os
import re
import sys
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

KEY = "sk-test-1234567890"
TARGET = Path(__file__).parent.parent / "paca" / "engine" / "llm" / "models.json"
ENVIRONMENT = re.compile(r"(KEY|TOKEN|BASE|URL|HOST|ENDPOINT|REGION|PROJECT|PROXY)", re.I)
SECONDS = 10.0
# The providers whose models the pages offer, the most asked for first. Their prices are their own.
FIRST = (
    "openai", "gemini", "mistral", "deepseek", "xai", "groq", "openrouter", "together_ai",
    "fireworks_ai", "cerebras", "moonshot", "zai", "dashscope", "cohere",
)  # fmt: skip
ANSWERS_ELSEWHERE = re.compile(
    r"text-completion|_text$|^(anthropic|azure|custom|ollama|sap|oobabooga|petals|triton|nlp_cloud|a2a|databricks_agent|datarobot)"
)
# A price that depends on more than these is not taken over.
KINDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
MORE = ("input_cost_per_request", "output_cost_per_reasoning_token", "input_cost_per_second")
STREAM = b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
PATH = b"/chat/completions"  # what answers there speaks OpenAI's dialect
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"


def main() -> None:
    for name in [name for name in os.environ if ENVIRONMENT.search(name)]:
        del os.environ[name]
    sys.path.insert(0, str(TARGET.parents[3]))
    providers = asyncio.run(_providers())
    import litellm

    from paca.engine.llm.providers import OPENAI_COMPATIBLE

    first = [name for name in FIRST if name in providers or name in OPENAI_COMPATIBLE]
    found = {
        "litellm": version("litellm"),
        "first": first,
        "providers": providers,
        "models": _models(litellm.model_cost, first),
    }
    TARGET.write_text(_lines(found))
    print(f"{TARGET.name}: {len(providers)} providers, {len(found['models'])} models")


# --- providers ----------------------------------------------------------------------------------


async def _providers() -> dict[str, dict[str, Any]]:
    from paca.engine.llm.litellm import library

    await library.load()
    import litellm

    heard: list[bytes] = []
    server = await asyncio.start_server(lambda r, w: _answer(r, w, heard), "127.0.0.1", 0)
    base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    names = sorted({getattr(p, "value", p) for p in litellm.provider_list})
    found = {}
    for name in names:
        if ANSWERS_ELSEWHERE.search(name):
            continue
        facts = await _facts(name, base_url, heard)
        if facts is not None:
            found[name] = facts
    server.close()
    return found


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: list[bytes]
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.I)
    await reader.readexactly(int(length[1]) if length else 0)
    heard.append(head)
    writer.write(HEAD % len(STREAM) + STREAM)
    await writer.drain()
    writer.close()


async def _facts(name: str, base_url: str, heard: list[bytes]) -> dict[str, Any] | None:
    """How the provider is asked, or None if a key, an address and our connections are not enough."""
    from openai import AsyncStream

    heard.clear()
    try:
        wrapper = await _ask(name, api_base=base_url)
    except Exception:  # noqa: BLE001 - whatever it is, this provider cannot be asked in this way
        return None
    if not heard or KEY.encode() not in heard[-1] or PATH not in heard[-1]:
        return None
    if isinstance(wrapper.completion_stream, AsyncStream):
        address = _default_address(name)
        return {"over_sdk": True, **({"base_url": address} if address else {})}
    if not await _host_asked(name, api_base=base_url):
        return None
    host = await _host_asked(name)
    return {"over_sdk": False, **({"host": host} if host else {})}


async def _ask(name: str, **how: Any) -> Any:
    import litellm

    asked = litellm.acompletion(
        model="m",
        custom_llm_provider=name,
        messages=[{"role": "user", "content": "hi"}],
        api_key=KEY,
        stream=True,
        max_tokens=5,
        num_retries=0,
        **how,
    )
    return await asyncio.wait_for(asked, SECONDS)


def _default_address(name: str) -> str:
    import litellm

    if name == "openai":
        return "https://api.openai.com/v1"
    try:
        found = litellm.get_llm_provider(model=f"{name}/m", api_key=KEY)[3] or ""
    except Exception:  # noqa: BLE001
        return ""
    return found if "localhost" not in found and "127.0.0.1" not in found else ""


async def _host_asked(name: str, **how: Any) -> str:
    """Where litellm sends the request by our connections; "" if it does not use them."""
    import httpx

    from paca.engine.llm.litellm import library

    seen: list[str] = []

    def look(host: str) -> None:
        seen.append(host)
        raise httpx.ConnectError("only looking")

    async with httpx.AsyncClient() as http:
        try:
            wrapper = await _ask(name, client=library.http_client(http, look), **how)
            await anext(wrapper)
        except Exception:  # noqa: BLE001, S110 - it ends so by design
            pass
    return seen[0] if seen else ""


# --- models -------------------------------------------------------------------------------------


def _models(costs: dict[str, dict[str, Any]], providers: list[str]) -> dict[str, dict[str, Any]]:
    found = {}
    for key, facts in sorted(costs.items()):
        provider = str(facts.get("litellm_provider", "")).replace("cohere_chat", "cohere")
        usable = facts.get("mode") == "chat" and facts.get("supports_function_calling")
        name = key.removeprefix(f"{provider}/").removeprefix("cohere_chat/")
        if provider not in providers or not usable or name.startswith("ft:"):
            continue
        found[f"{provider}/{name}"] = _price(facts)
    return found


def _price(facts: dict[str, Any]) -> dict[str, Any]:
    """Dollars a million tokens; empty where the price is not known or not this simple."""
    if any(_differs(facts, name) for name in MORE):
        return {}
    price = _of_kinds(facts, "")
    steps = {
        m[1]
        for name in facts
        if (m := re.match(r"input_cost_per_token_above_(\d+)k_tokens$", name))
    }
    if "input" not in price or "output" not in price or len(steps) > 1:
        return {}
    if steps:
        step = steps.pop()
        price["long_from"] = int(step) * 1000
        price["long"] = _of_kinds(facts, f"_above_{step}k_tokens")
    return price


def _differs(facts: dict[str, Any], name: str) -> bool:
    return bool(facts.get(name)) and facts[name] != facts.get("output_cost_per_token")


def _of_kinds(facts: dict[str, Any], ending: str) -> dict[str, Any]:
    return {
        kind: f"{(Decimal(str(facts[name + ending])) * 1_000_000).normalize():f}"
        for kind, name in KINDS.items()
        if facts.get(name + ending)
    }


def _lines(found: dict[str, Any]) -> str:
    """One provider or model a line, so that a change can be read."""
    parts = [f'"litellm": {json.dumps(found["litellm"])}', f'"first": {json.dumps(found["first"])}']
    for name in ("providers", "models"):
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found[name].items())
        parts.append(f'"{name}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
