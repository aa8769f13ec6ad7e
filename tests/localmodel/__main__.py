"""A smoke test against a real model: ``make test-localmodel``. Needs about 200 MB, and no network
once that is installed. The model is too small to use tools; what is tried is that we are understood
and that we understand: the list of models, an answer, usage, an output limit, tools beside a question.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from paca.engine.llm import connection_check, http_pool
from paca.engine.llm.address_check import AllowedServers
from paca.engine.llm.base import LLM, Reply, Request, StopReason, TextDelta
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.registry import open_llm
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from tests.engine.llm.request_builders import BASH, request_with

MODEL = "llamacpp/smollm2"
HERE = Path(__file__).parent
WINDOW = 4096  # tokens
# On a busy machine it writes two tokens a second.
PATIENT = TimeLimits(first_token=600, gap=600, total=1800)


@contextmanager
def served(python: str) -> Iterator[str]:
    """The model's address, while its server runs."""
    with subprocess.Popen(
        [python, str(HERE / "serve.py"), str(WINDOW)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
            server.terminate()


async def reply_of(llm: LLM, request: Request) -> Reply:
    pieces = []
    async for chunk in llm.stream(request):
        if isinstance(chunk, TextDelta):
            pieces.append(chunk.text)
        elif isinstance(chunk, Reply):
            assert chunk.text.strip() == "".join(pieces).strip()
            return chunk
    raise AssertionError("no reply")


async def the_connection_can_be_tested(address: str) -> str:
    found = await connection_check.check_connection(MODEL, base_url=address)
    assert found.works, found.detail
    assert found.models == ("smollm2",), found.models
    return found.detail


async def a_question_is_answered_with_its_usage(address: str) -> str:
    llm = open_llm(MODEL, base_url=address, limits=PATIENT)
    reply = await reply_of(llm, request_with("Say hello.", max_tokens=40, tools=()))
    assert reply.text.strip()
    assert not reply.usage.estimated
    assert reply.usage.input > 5
    assert reply.usage.output > 0
    return f"{reply.usage.output} tokens: {reply.text.strip()[:60]!r}"


async def the_output_limit_is_told_as_such(address: str) -> str:
    llm = open_llm(MODEL, base_url=address, limits=PATIENT)
    reply = await reply_of(llm, request_with("Count from 1 to 500.", max_tokens=5, tools=()))
    assert reply.stop is StopReason.OUTPUT_LIMIT
    return f"{reply.usage.output} tokens"


async def tools_beside_a_question_are_taken(address: str) -> str:
    llm = open_llm(MODEL, base_url=address, limits=PATIENT)
    reply = await reply_of(llm, request_with("List the files.", max_tokens=40, tools=(BASH,)))
    return "called a tool" if reply.calls else "answered in prose, as it does"


async def tools_in_words_are_taken(address: str) -> str:
    llm = TextCallingLLM(open_llm(MODEL, base_url=address, limits=PATIENT))
    reply = await reply_of(llm, request_with("List the files.", max_tokens=60, tools=(BASH,)))
    return f"wrote a call of {reply.calls[0].tool}" if reply.calls else "answered in prose"


TRIALS: tuple[Callable[[str], Awaitable[str]], ...] = (
    the_connection_can_be_tested,
    a_question_is_answered_with_its_usage,
    the_output_limit_is_told_as_such,
    tools_beside_a_question_are_taken,
    tools_in_words_are_taken,
)


def a_chat_of_thirty_messages_goes_on_past_the_window(address: str) -> int:
    """Run it as a test, because it needs a database and a worker; gives its exit code."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "-p",
        "no:cacheprovider",
        str(HERE / "long_chat.py"),
    ]
    environment = {**os.environ, "LOCAL_MODEL": address, "LOCAL_MODEL_WINDOW": str(WINDOW)}
    return subprocess.run(command, env=environment, check=False).returncode


async def main(python: str) -> int:
    http_pool.allow_private_servers(AllowedServers.parse(["127.0.0.1:*"]))
    with served(python) as address:
        for trial in TRIALS:
            found = await trial(address)
            print(f"ok  {trial.__name__.replace('_', ' ')}: {found}", flush=True)
        await http_pool.close_connections()
        return await asyncio.to_thread(a_chat_of_thirty_messages_goes_on_past_the_window, address)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
