"""The URLs of the sockets."""

from typing import Any

from channels.routing import URLRouter
from django.urls import path, re_path

from paca.realtime.consumers import ConversationConsumer, ProjectConsumer
from paca.realtime.handshake import Scope
from paca.realtime.protocol import CloseCode


async def close_unknown_path(_scope: Scope, receive: Any, send: Any) -> None:
    """Close a socket with an unknown URL. It is accepted first: a page can read the code only then."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": int(CloseCode.NOT_FOUND)})


sockets = URLRouter(
    [
        path("ws/conversations/<uuid:id>/", ConversationConsumer.as_asgi()),
        path("ws/projects/<uuid:id>/", ProjectConsumer.as_asgi()),
        re_path(r"", close_unknown_path),  # type: ignore[arg-type] # an ASGI application, not a view
    ]
)
