"""The addresses of the sockets."""

from typing import Any

from channels.routing import URLRouter
from django.urls import path, re_path

from paca.realtime.consumers import ConversationConsumer, ProjectConsumer
from paca.realtime.handshake import Scope
from paca.realtime.protocol import Close


async def nothing_here(_scope: Scope, receive: Any, send: Any) -> None:
    """Accepted first: only then can a page read the code."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": int(Close.NOT_THERE)})


sockets = URLRouter(
    [
        path("ws/conversations/<uuid:id>/", ConversationConsumer.as_asgi()),
        path("ws/projects/<uuid:id>/", ProjectConsumer.as_asgi()),
        re_path(r"", nothing_here),  # type: ignore[arg-type] # an ASGI application, not a view
    ]
)
