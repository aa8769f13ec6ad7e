"""An MCP server over HTTP made with the official SDK, in a thread of this process, for both revisions of the protocol."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from tests.support import ports


class HttpServer:
    """``with HttpServer() as web:`` with the tools add and slow. With ``sse`` it speaks the transport of that name."""

    def __init__(self, *, sse: bool = False) -> None:
        self._sse = sse
        self.port = ports.free()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = threading.Event()

    @property
    def url(self) -> str:
        """Where a client connects."""
        return f"http://127.0.0.1:{self.port}/{'sse' if self._sse else 'mcp'}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._began.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)

    def _run(self) -> None:
        import uvicorn
        from mcp.server import MCPServer

        server = MCPServer("web", log_level="CRITICAL")

        @server.tool()
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        @server.tool()
        async def slow(seconds: float) -> str:
            """Wait."""
            await asyncio.sleep(seconds)
            return "done"

        app = server.sse_app() if self._sse else server.streamable_http_app()
        config = uvicorn.Config(
            app, host="127.0.0.1", port=self.port, log_level="critical", lifespan="on"
        )
        self._server = uvicorn.Server(config)
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server.serve())
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        self._began.set()
        await serving
