"""The official SDK, behind our own words. Nothing imports this module before a server is used: it takes seconds."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import anyio
import httpx2
import mcp_types
from mcp import MCPError
from mcp.client import Client, ClientSession, Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from paca.common.errors import PacaError
from paca.engine.llm.address_check import AddressRefused
from paca.engine.mcp.errors import (
    ENDED,
    CallTimedOut,
    ConnectionLost,
    McpError,
    ServerRefused,
    ServerUnavailable,
    SessionExpired,
)
from paca.engine.mcp.http_transport import (
    CONNECT_SECONDS,
    MAX_MESSAGE_BYTES,
    AccessToken,
    AnswerRefused,
    GuardedTransport,
)
from paca.engine.mcp.offers import MAX_DESCRIBED, CheckedTools, check_tools, clean
from paca.engine.mcp.results import ReadResult, read_contents, read_result
from paca.engine.mcp.sandbox_transport import sandbox_transport
from paca.engine.mcp.settings import McpServerSettings, ServerOffer
from paca.engine.workspace import ProcessPipe

Mode = Literal["auto", "legacy"]
Answer = TypeVar("Answer")
# Texts of the SDK for answers that are none of the protocol.
SESSION_EXPIRED, HTTP_ERROR = "Session terminated", "Server returned an error response"
MAX_SILENCE_SECONDS = 3_600.0
CLIENT = mcp_types.Implementation(name="paca", version="1")
MAX_PAGES = 20
MAX_LISTED = 200
MAX_URI_CHARACTERS, MAX_PROMPT_ARGUMENTS = 2_000, 50
# How long a server may take to say which resources or prompts it has: its tools do not wait for that.
LIST_SECONDS = 5.0
MAX_ERROR_CHARACTERS = 500
# The SDK logs what servers send, which may hold anything. What goes wrong is told by our own errors.
for _name in ("mcp.client", "mcp.shared", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs each address, which may hold a key


@dataclass(slots=True)
class _SessionState:
    """What is known of a connection beside its answers. ``problem`` gives why it fails, as far as is known."""

    problem: Callable[[], str]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    tools_changed: bool = False


class SdkSession:
    """A connection that has been agreed on. Its methods raise ``McpError``."""

    def __init__(self, session: ClientSession, state: _SessionState) -> None:
        self._session = session
        self._state = state

    @property
    def has_ended(self) -> bool:
        """Whether the connection is known to be over."""
        return self._state.ended.is_set()

    async def wait_until_ended(self) -> None:
        """Wait until the connection is over; for ever if the transport does not tell."""
        await self._state.ended.wait()

    @property
    def problem(self) -> str:
        """Why the connection has ended, as far as is known."""
        return self._state.problem()

    @property
    def tools_changed(self) -> bool:
        """Whether the server has said that its tools are others now."""
        return self._state.tools_changed

    @property
    def protocol_version(self) -> str:
        """The revision of the protocol that both sides speak."""
        return self._session.protocol_version or ""

    async def list_offer(self) -> ServerOffer:
        """What the server offers."""
        self._state.tools_changed = False
        has = self._session.server_capabilities or mcp_types.ServerCapabilities()
        checked = await self._list_tools() if has.tools is not None else CheckedTools(())
        problems = [checked.left_out]
        resources = has.resources is not None and await self._has_any(
            "resources", self.list_resources, problems
        )
        prompts = has.prompts is not None and await self._has_any(
            "prompts", self.list_prompts, problems
        )
        left_out = " ".join(filter(None, problems))
        return ServerOffer(checked.tools, resources=resources, prompts=prompts, left_out=left_out)

    async def _has_any(
        self, noun: str, list_all: Callable[[], Awaitable[list[Any]]], problems: list[str]
    ) -> bool:
        """Whether the server lists any. Many name lists that they do not have; their tools are there in any case."""
        try:
            async with asyncio.timeout(LIST_SECONDS):
                return bool(await list_all())
        except ServerRefused as error:
            why = error.detail.rstrip(".")
        except TimeoutError:
            why = f"it did not answer within {LIST_SECONDS:g} s"
        problems.append(f"Its {noun} cannot be listed: {why}.")
        return False

    async def _list_tools(self) -> CheckedTools:
        found: list[dict[str, Any]] = []
        cursor = None
        for _ in range(MAX_PAGES):
            page = await self._ask(self._session.list_tools(params=_after(cursor)))
            found += [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": tool.input_schema,
                    "annotations": _wire(tool.annotations) if tool.annotations else None,
                }
                for tool in page.tools[: MAX_DESCRIBED + 1]
            ]
            # guard: mcp-lists-of-tools-end
            if len(found) > MAX_DESCRIBED or not (cursor := page.next_cursor):
                break
        # In a thread: schemas that are made for it take a second, and other runs go on meanwhile.
        return await asyncio.to_thread(check_tools, found)

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        on_progress: Callable[[str], None] | None = None,
    ) -> tuple[ReadResult, bool]:
        """The result of a call, and whether the server says that it failed."""

        async def show(progress: float, total: float | None, message: str | None) -> None:
            if on_progress is not None and message:
                on_progress(clean(message)[:MAX_ERROR_CHARACTERS] + "\n")

        # Not ``call_tool``: it checks the result against a schema of the server, whose patterns may take for ever.
        params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
        answer = await self._ask(
            self._session.send_request(
                mcp_types.CallToolRequest(params=params),
                mcp_types.CallToolResult,
                request_read_timeout_seconds=seconds,
                progress_callback=show if on_progress else None,
            ),
            seconds=seconds,
        )
        blocks = [_wire(block) for block in answer.content]
        return read_result(blocks, answer.structured_content), answer.is_error

    async def list_resources(self) -> list[tuple[str, str, str]]:
        """The uri, name and description of each resource whose uri is short and can be seen."""
        page = await self._ask(self._session.list_resources())
        return [
            (each.uri, clean(each.name), clean(each.description or ""))
            for each in page.resources[:MAX_LISTED]
            if len(each.uri) <= MAX_URI_CHARACTERS and each.uri == clean(each.uri)
        ]

    async def read_resource(self, uri: str) -> ReadResult:
        """The contents of a resource."""
        answer = await self._ask(self._session.read_resource(uri))
        return read_contents(_wire(each) for each in answer.contents)

    async def list_prompts(self) -> list[tuple[str, str, list[str]]]:
        """The name and description of each prompt, and the names of its arguments."""
        page = await self._ask(self._session.list_prompts())
        return [
            (
                clean(each.name),
                clean(each.description or ""),
                [clean(one.name) for one in (each.arguments or ())[:MAX_PROMPT_ARGUMENTS]],
            )
            for each in page.prompts[:MAX_LISTED]
        ]

    async def read_prompt(self, name: str, arguments: dict[str, str]) -> ReadResult:
        """The messages of a prompt."""
        answer = await self._ask(self._session.get_prompt(name, arguments))
        return read_result(
            [{"type": "text", "text": f"{each.role}:"}, _wire(each.content)][n]
            for each in answer.messages
            for n in (0, 1)
        )

    async def _ask(self, request: Awaitable[Answer], *, seconds: float = math.inf) -> Answer:
        """The answer to a request. Raises ``McpError`` for everything that can go wrong."""
        try:
            return await request
        except MCPError as error:
            raise self._translated(error, seconds) from None
        except ValidationError:
            raise ServerRefused("its answer does not fit the protocol") from None
        except RuntimeError as error:  # it asks back for input, which nobody here can give
            raise ServerRefused(_short(str(error))) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise self._lost() from None

    def _lost(self) -> ConnectionLost:
        return ConnectionLost(self._state.problem() or ENDED)

    def _translated(self, error: MCPError, seconds: float) -> McpError:
        if error.code == REQUEST_TIMEOUT:
            return CallTimedOut(f"it gave no answer within {seconds:g} s")
        if error.code == CONNECTION_CLOSED:
            return self._lost()
        # guard: mcp-expired-session-is-renewed
        if error.code == mcp_types.INVALID_REQUEST and error.message == SESSION_EXPIRED:
            return SessionExpired("it has forgotten the session")
        is_vague = error.message in (HTTP_ERROR, "Not Found")
        return ServerRefused((is_vague and self._state.problem()) or _short(error.message))


def _wire(model: Any) -> dict[str, Any]:
    """A part of an answer as the protocol writes it."""
    dumped: dict[str, Any] = model.model_dump(by_alias=True, mode="json")
    return dumped


def _after(cursor: str | None) -> mcp_types.PaginatedRequestParams | None:
    return mcp_types.PaginatedRequestParams(cursor=cursor) if cursor else None


def _short(text: str) -> str:
    return clean(text)[:MAX_ERROR_CHARACTERS] or "it gave no reason"


# --- connecting -------------------------------------------------------------------------------------


@asynccontextmanager
async def connect_over_http(
    settings: McpServerSettings, access_token: AccessToken | None, mode: Mode = "auto"
) -> AsyncIterator[SdkSession]:
    """A session with a server that the worker reaches itself. Leave it in the task that has entered it.

    Raises ``ServerUnavailable`` and ``SignInNeeded``, also after the session has begun.
    """
    transport = GuardedTransport(
        private_allowed=settings.private_allowed, access_token=access_token
    )
    timeout = httpx2.Timeout(
        CONNECT_SECONDS, read=max(settings.call_seconds, settings.start_seconds) + CONNECT_SECONDS
    )

    def new_client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = timeout,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=transport,
            headers=dict(settings.headers),
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,
        )

    session = _SessionState(problem=lambda: transport.problem)
    async with _own_errors(session), AsyncExitStack() as stack:
        stack.push_async_callback(transport.aclose)
        if settings.transport == "sse":
            streams = sse_client(
                settings.url,
                timeout=CONNECT_SECONDS,
                sse_read_timeout=MAX_SILENCE_SECONDS,
                httpx_client_factory=new_client,
            )
        else:
            client = await stack.enter_async_context(new_client())
            streams = streamable_http_client(
                settings.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
            )
        # The transport sse is older than the newest revision.
        mode = "legacy" if settings.transport == "sse" else mode
        yield await stack.enter_async_context(_session(streams, mode, session))


@asynccontextmanager
async def connect_to_process(pipe: ProcessPipe, mode: Mode = "auto") -> AsyncIterator[SdkSession]:
    """A session with a server in the sandbox. Leave it in the task that has entered it.

    Raises ``ServerUnavailable``, also after the session has begun.
    """
    problems: list[str] = []
    session = _SessionState(problem=lambda: problems[-1] if problems else "")

    def end(problem: str) -> None:
        problems.append(problem)
        session.ended.set()

    async with _own_errors(session), _session(sandbox_transport(pipe, end), mode, session) as found:
        yield found


@asynccontextmanager
async def _session(
    streams: Transport, mode: Mode, state: _SessionState
) -> AsyncIterator[SdkSession]:
    async def notice(message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            state.tools_changed = True

    client = Client(streams, mode=mode, client_info=CLIENT, cache=None, message_handler=notice)
    async with client:
        yield SdkSession(client.session, state)


@asynccontextmanager
async def _own_errors(state: _SessionState) -> AsyncIterator[None]:
    try:
        yield
    except PacaError:
        raise
    except Exception as error:  # noqa: BLE001 - the SDK raises errors of every kind, and groups
        leaves = list(_leaves(error))
        for leaf in leaves:
            if isinstance(leaf, PacaError):
                raise leaf from None
        raise ServerUnavailable(state.problem() or _why(leaves[0])) from None


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


# The sentences for people about errors of the libraries; the first that fits counts.
SENTENCES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (ValidationError, "its answer does not fit the protocol"),
    (socket.gaierror, "its host name is not known"),
    (httpx2.TimeoutException, "it does not answer in time"),
    (httpx2.ConnectError, "it cannot be reached: nothing accepts connections there"),
    (
        (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, UnicodeError),
        "its address or its headers cannot be sent",
    ),
    (httpx2.TransportError, "the connection broke"),
)


def _why(error: BaseException) -> str:
    """The sentence for people about an error of a library."""
    if isinstance(error, AnswerRefused | AddressRefused):
        return str(error)
    if isinstance(error, MCPError):
        return _short(error.message)
    if isinstance(error, httpx2.HTTPStatusError):
        return f"it answers HTTP {error.response.status_code}"
    fitting = (sentence for kind, sentence in SENTENCES if isinstance(error, kind))
    return next(fitting, f"it failed ({type(error).__name__})")
