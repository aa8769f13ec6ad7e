"""The connection with one MCP server of a run: opened when needed, reported, and opened again after it was lost."""

from __future__ import annotations

import asyncio
import importlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.common.secret_forms import SECRET_WORDS
from paca.common.secret_removal import text_without_secrets
from paca.engine.mcp.errors import ENDED, McpError, ServerUnavailable
from paca.engine.mcp.settings import (
    McpServers,
    McpServerSettings,
    PinnedTool,
    ServerOffer,
    ServerState,
    SignInNeeded,
)
from paca.engine.tools.formatting import to_one_line
from paca.engine.workspace import Command, ProcessPipe, SandboxWorkspace, Superseded

if TYPE_CHECKING:
    from paca.engine.mcp import sdk
    from paca.engine.mcp.sdk import SdkSession

logger = logging.getLogger(__name__)

OpenWorkspace = Callable[[], Awaitable[SandboxWorkspace]]
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 5.0, 300.0
CLOSE_SECONDS = 3.0
# How long a server that has not answered a call in time may take to say that it is there.
SIGN_OF_LIFE_SECONDS = 5.0


async def load_sdk() -> None:
    """Import the SDK in a thread: it takes seconds, and the runs of this worker go on meanwhile."""
    await asyncio.to_thread(importlib.import_module, "paca.engine.mcp.sdk")


class ServerConnection:
    """The connection with one server. A task of its own holds it, in which the SDK's contexts begin and end.

    ``pins`` are the tools as last reported, ``offered`` the hashes of those that the server offers now; None before it
    was asked. ``beside_secrets``: the agent's commands have secrets, and the server is outside of the sandbox. ``error`` is why it is unavailable, empty if it is not.
    """

    def __init__(
        self, settings: McpServerSettings, servers: McpServers, workspace: OpenWorkspace
    ) -> None:
        self.settings = settings
        self.pins: Mapping[str, PinnedTool] = settings.tools
        self.resources, self.prompts = settings.resources, settings.prompts
        self.offered: dict[str, str] | None = None
        self.beside_secrets = False
        self.error = ""
        self._servers = servers
        self._workspace = workspace
        self._session: SdkSession | None = None
        self._pipe: ProcessPipe | None = None
        self._holder: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[None] | None = None
        self._closing = asyncio.Event()
        self.connecting_since: float | None = None  # without the start of the sandbox; None before
        self._failures = 0
        self._retry_at = 0.0
        self._tokens: set[str] = set()
        self._is_in_doubt = False

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent, as far as is known."""
        return self._session is not None and not self._session.has_ended

    @property
    def is_opening(self) -> bool:
        """Whether the server is being connected."""
        return self._opened is not None and not self._opened.done()

    @property
    def is_due(self) -> bool:
        """Whether it is time to try again after a failure, or for the first time."""
        return not self.is_open and not self.is_opening and clock.monotonic() >= self._retry_at

    # --- opening --------------------------------------------------------------------------------------

    def begin(self) -> asyncio.Future[None]:
        """Connect in the background, unless that is done or under way. The future ends with the attempt."""
        if self._opened is None or (self._opened.done() and not self.is_open):
            self._forget()
            self._closing, self.connecting_since = asyncio.Event(), None
            self._opened = asyncio.get_running_loop().create_future()
            self._opened.add_done_callback(_retrieve)
            self._holder = asyncio.create_task(self._hold(self._opened, self._closing))
            self._holder.add_done_callback(_log_error)
        return self._opened

    async def session(self) -> SdkSession:
        """An open session with the newest list of tools.

        Raises ``ServerUnavailable`` and other kinds of ``McpError``, ``SignInNeeded``, and ``TimeoutError``.
        """
        session = await self._open_session()
        # guard: mcp-server-that-hangs-is-begun-again
        if self._is_in_doubt and not await self._shows_life(session):
            self._forget()
            session = await self._open_session()
        if session.tools_changed:
            async with asyncio.timeout(self.settings.start_seconds):
                await self._take_offer(session)
        return session

    async def _open_session(self) -> SdkSession:
        await asyncio.shield(self.begin())
        session = self._session
        if session is None or session.has_ended:
            raise ServerUnavailable(self.error or "it has ended")
        return session

    def doubt(self) -> None:
        """A call had no answer in time: a server that does one thing at a time may never answer again."""
        self._is_in_doubt = True

    async def _shows_life(self, session: SdkSession) -> bool:
        """Whether a server that is in doubt answers. Every revision of the protocol can ask for the list of tools."""
        self._is_in_doubt = False
        try:
            async with asyncio.timeout(SIGN_OF_LIFE_SECONDS):
                await self._take_offer(session)
        except (TimeoutError, McpError):
            return False
        return True

    async def _hold(self, opened: asyncio.Future[None], closing: asyncio.Event) -> None:
        """Connect, and keep the connection until it ends or is closed."""
        session: SdkSession | None = None
        try:
            async with AsyncExitStack() as stack:
                session = await self._open(stack)
                self._session, self.error, self._failures = session, "", 0
                _settle(opened, None)
                await _first_of(closing.wait(), session.wait_until_ended())
        except PacaError as error:
            # A connection that was given up may end in any way, while the next one is there already.
            if not closing.is_set():
                await self._fail(opened, error)
        finally:
            if self._session is session:
                self._session = None
            _settle(opened, ServerUnavailable(self.error or "it was not connected"))

    async def _open(self, stack: AsyncExitStack) -> SdkSession:
        """Connect and take the offer. Raises ``PacaError``."""
        await load_sdk()
        # The start of a sandbox has time limits of its own.
        is_inside = self.settings.transport == "stdio"
        workspace = await self._workspace() if is_inside else None
        self.connecting_since = clock.monotonic()
        seconds = self.settings.start_seconds
        try:
            async with asyncio.timeout(seconds):
                session = await self._connect(stack, workspace)
                await self._take_offer(session)
        except TimeoutError:
            raise ServerUnavailable(f"it did not answer within {seconds:g} s") from None
        return session

    async def _connect(
        self, stack: AsyncExitStack, workspace: SandboxWorkspace | None
    ) -> SdkSession:
        from paca.engine.mcp import sdk

        # A server that ends at a request that it does not know is asked in the old way the next time.
        mode: sdk.Mode = "legacy" if self._failures % 2 else "auto"
        if workspace is None:
            token = self.access_token if self.settings.uses_oauth else None
            return await stack.enter_async_context(
                sdk.connect_over_http(self.settings, token, mode)
            )
        self._pipe = pipe = await self._start_process(workspace)
        stack.push_async_callback(_close, pipe)
        try:
            return await stack.enter_async_context(sdk.connect_to_process(pipe, mode))
        except McpError as error:
            raise ServerUnavailable(await _end_of(pipe) or error.detail) from None

    async def _start_process(self, workspace: SandboxWorkspace) -> ProcessPipe:
        """Start the server in the sandbox. Its variables are given to this process only."""
        return await workspace.open_pipe(
            Command(
                f"mcp-{uuid.uuid4().hex}",
                argv=(self.settings.command, *self.settings.args),
                env=dict(self.settings.env),
            )
        )

    async def access_token(self, refused: str) -> str:
        """The token for this server; another one if it has ``refused`` that one. Raises as ``McpServers`` says."""
        token = await self._servers.access_token(self.settings, refused)
        # Results and errors may repeat it. A token that is newer than the turn is in no other mask.
        # guard: mcp-results-repeat-no-token
        self._tokens.add(token)
        return token

    async def decided(self, *names: str) -> Mapping[str, PinnedTool] | None:
        """What people have decided by now, as ``McpServers.decided`` gives it."""
        return await self._servers.decided(self.settings, names)

    async def _take_offer(self, session: SdkSession) -> None:
        """Ask what the server offers, and report it: the answer says which tools people have accepted."""
        offer = await session.list_offer()
        await self._report(ServerState.AVAILABLE, offer.left_out, offer)
        self.offered = {tool.name: tool.hash for tool in offer.tools}
        self.resources, self.prompts = offer.resources, offer.prompts

    async def _report(
        self, state: ServerState, error: str, offer: ServerOffer | None = None
    ) -> None:
        with tolerated("mcp report", server=self.settings.name):
            self.pins = await self._servers.report(self.settings, state, error, offer)

    async def _fail(self, opened: asyncio.Future[None], error: PacaError) -> None:
        """Note why the server is unavailable and when to try again."""
        self.error = self.mask(to_one_line(error.detail).rstrip(".")) or "it failed"
        pause = FIRST_RETRY_SECONDS * 2 ** min(self._failures, 10)
        self._retry_at = clock.monotonic() + min(pause, MAX_RETRY_SECONDS)
        self._failures += 1
        logger.warning(
            "MCP server unavailable", extra={"server": self.settings.name, "error": self.error}
        )
        needs_sign_in = isinstance(error, SignInNeeded)
        state = ServerState.SIGN_IN_NEEDED if needs_sign_in else ServerState.UNAVAILABLE
        pins = self.pins
        await self._report(state, self.error)
        self.pins = self.pins or pins
        if isinstance(error, Superseded | SignInNeeded):
            _settle(opened, error)
        _settle(opened, ServerUnavailable(self.error))

    # --- the end --------------------------------------------------------------------------------------

    async def drop(self, error: str) -> str:
        """Give the connection up, because it was lost: the next request connects again. Gives why it was lost."""
        is_vague = error == ENDED and self._pipe is not None
        ended = await _end_of(self._pipe) if is_vague and self._pipe is not None else ""
        self._forget()
        return self.mask(ended or error)

    def _forget(self) -> None:
        self._closing.set()
        self._session = None
        self._opened = None

    async def close(self) -> None:
        """End the connection, and the process of a server in the sandbox."""
        holder, self._holder = self._holder, None
        was_opening = self.is_opening
        self._forget()
        if holder is None:
            return
        if was_opening:
            holder.cancel()
        done, _ = await asyncio.wait({holder}, timeout=CLOSE_SECONDS)
        if not done:
            holder.cancel()
            await asyncio.wait({holder}, timeout=CLOSE_SECONDS)

    # --- secrets --------------------------------------------------------------------------------------

    def mask(self, text: str) -> str:
        """The text without any value of the server's settings: an error may quote them."""
        return text_without_secrets(text, self._values | self._tokens)

    def mask_result(self, text: str) -> str:
        """The text without the values that are secrets by their names; others belong to results."""
        return text_without_secrets(text, self._secrets | self._tokens)

    @cached_property
    def _values(self) -> frozenset[str]:
        url = urlsplit(self.settings.url)
        queried = (value for _, value in parse_qsl(url.query))
        found = {*self._secrets, *self.settings.env.values(), url.password or "", *queried}
        return frozenset(found - {""})

    @cached_property
    def _secrets(self) -> frozenset[str]:
        headers = self.settings.headers.values()
        named = [
            value
            for name, value in self.settings.env.items()
            if any(word in name.lower() for word in SECRET_WORDS)
        ]
        return frozenset({*headers, *(each.rpartition(" ")[2] for each in headers), *named} - {""})


def _log_error(holder: asyncio.Task[None]) -> None:
    """A lost lease or a database error: the next commit of the run meets it too."""
    if not holder.cancelled() and (error := holder.exception()) is not None:
        logger.warning("MCP connection failed", extra={"error": type(error).__name__})


def _retrieve(opened: asyncio.Future[None]) -> None:
    if not opened.cancelled():
        opened.exception()  # so that asyncio does not warn if nobody waited


def _settle(opened: asyncio.Future[None], error: Exception | None) -> None:
    if opened.done():
        return
    if error is None:
        opened.set_result(None)
    else:
        opened.set_exception(error)


async def _first_of(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _close(pipe: ProcessPipe) -> None:
    with suppress(PacaError):  # the sandbox is gone, and the process with it
        await pipe.close()


async def _end_of(pipe: ProcessPipe) -> str:
    """How the process has ended, and the last line of its errors; empty if it runs."""
    try:
        async with asyncio.timeout(0.5):
            outcome = await pipe.outcome()
    except (TimeoutError, PacaError):
        return ""
    lines = [line for line in outcome.output.strip().splitlines() if line.strip()]
    last = f": {lines[-1].strip()}" if lines else ""
    cause = f"was ended ({outcome.cause})" if outcome.cause else f"ended with {outcome.exit_code}"
    return f"its program {cause}{last}"
