"""Write paca/engine/llm/models.json: what litellm's locked release knows of providers and prices.

    .venv/bin/python scripts/make_models.py

To be run after litellm was raised in requirements.in. Each provider is asked once, at a server of
this program: a provider that does not speak OpenAI's dialect, or needs more than a key and an address,
is left out.
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
MODEL = "m"
BEARER = f"Bearer {KEY}".encode()
# A header that a provider needs, and not one by which litellm names itself.
WANTED_HEADER = re.compile(r"token-type")
LOCAL = re.compile(r"//(localhost|127\.|0\.0\.0\.0)")
# The addresses that litellm's release has not, or not in this form.
OWN_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "huggingface": "https://router.huggingface.co/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "hosted_vllm": "",
}
# Paths that litellm adds to an address of one's own, and that the default address has already.
ADDRESS_PATHS = {"/api/paas/v4": "/api/paas/v4"}
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
    body = await reader.readexactly(int(length[1]) if length else 0)
    heard.append(head + body)
    writer.write(HEAD % len(STREAM) + STREAM)
    await writer.drain()
    writer.close()


async def _facts(name: str, base_url: str, heard: list[bytes]) -> dict[str, Any] | None:
    """How the provider is asked, or None if a key and an address are not enough."""
    heard.clear()
    try:
        wrapper = await _ask(name, api_base=base_url)
    except Exception:  # noqa: BLE001 - whatever it is, this provider cannot be asked in this way
        return None
    head, _, body = heard[-1].partition(b"\r\n\r\n") if heard else (b"", b"", b"")
    if BEARER not in head or PATH not in head:
        return None
    facts = _peculiarities(head.decode(), json.loads(body))
    address = await _default_address(name, over_sdk=_is_over_sdk(wrapper))
    return {**({"base_url": address} if address else {}), **facts}


def _peculiarities(head: str, body: dict[str, Any]) -> dict[str, Any]:
    """What a request to this provider has that others have not."""
    first, *lines = head.split("\r\n")
    path = first.split(" ")[1].removeprefix("/v1").removesuffix(PATH.decode())
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.lower(): value.strip() for name, value in pairs}
    wanted = {name: value for name, value in headers.items() if WANTED_HEADER.search(name)}
    found: dict[str, Any] = {}
    if path not in ("", "/v1", ADDRESS_PATHS.get(path)):
        found["path"] = path
    if wanted:
        found["headers"] = wanted
    if body["model"] != MODEL:
        found["model_prefix"] = body["model"].removesuffix(MODEL)
    if "max_completion_tokens" in body:
        found["max_tokens_name"] = "max_completion_tokens"
    return found


def _is_over_sdk(wrapper: Any) -> bool:
    from openai import AsyncStream

    return isinstance(wrapper.completion_stream, AsyncStream)


async def _ask(name: str, **how: Any) -> Any:
    import litellm

    asked = litellm.acompletion(
        model=MODEL,
        custom_llm_provider=name,
        messages=[{"role": "user", "content": "hi"}],
        api_key=KEY,
        stream=True,
        max_tokens=5,
        num_retries=0,
        **how,
    )
    return await asyncio.wait_for(asked, SECONDS)


async def _default_address(name: str, *, over_sdk: bool) -> str:
    """The base URL that litellm uses if none is given; empty for a local or unknown one."""
    import litellm

    if name in OWN_ADDRESSES:
        return OWN_ADDRESSES[name]
    found = ""
    if over_sdk:
        try:
            found = litellm.get_llm_provider(model=f"{name}/m", api_key=KEY)[3] or ""
        except Exception:  # noqa: BLE001
            return ""
    else:
        found = (await _url_asked(name)).partition(PATH.decode())[0]
    return "" if LOCAL.search(found) else found.rstrip("/")


async def _url_asked(name: str) -> str:
    """The address that litellm sends the request to; empty if it does not use our client."""
    import httpx
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    seen: list[str] = []

    class Client(AsyncHTTPHandler):
        """Notes the address and sends nothing."""

        def __init__(self) -> None:
            self._client, self._owns_client = httpx.AsyncClient(), False
            self.timeout, self.event_hooks, self.follow_redirects = None, None, False

        async def post(self, url: str, **_: Any) -> httpx.Response:
            seen.append(url)
            raise httpx.ConnectError("only looking")

    try:
        wrapper = await _ask(name, client=Client())
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
        window = facts.get("max_input_tokens") or 0
        more = {"window": int(window)} if window else {}
        more |= {"sees": True} if facts.get("supports_vision") else {}
        found[f"{provider}/{name}"] = _price(facts) | more
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
