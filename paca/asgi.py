"""The ASGI application: pages and the API by Django, sockets by ``paca.realtime``, MCP by ``paca.mcp_server``."""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "paca.settings")
pages = get_asgi_application()

# Django must be set up before anything that imports its models.
from django.conf import settings  # noqa: E402

from paca.bus import get_bus  # noqa: E402
from paca.common.trusted_proxies import TrustedProxies  # noqa: E402
from paca.mcp_server.application import McpServer  # noqa: E402
from paca.ops import proxy_check, split_deployment  # noqa: E402
from paca.ops.daphne import bounded_http  # noqa: E402
from paca.ops.daphne.backpressure import DaphneBackpressure  # noqa: E402
from paca.realtime.database import events_after, latest_seqs  # noqa: E402
from paca.realtime.origin_check import OriginGuard  # noqa: E402
from paca.realtime.relay import Lifespan, Relay, RelayOnDemand  # noqa: E402
from paca.realtime.routing import sockets  # noqa: E402
from paca.web.middleware.body_size_limit import BodySizeLimit  # noqa: E402
from paca.web.middleware.concurrency_limit import ConcurrencyLimit  # noqa: E402
from paca.web.middleware.forwarded_headers import ForwardedHeaders  # noqa: E402

# Any server may import this module, and only `manage.py up` saves generated secrets.
split_deployment.check_served_installation()


def make_relay() -> Relay:
    """The hub of this web process, which reads the bus and the database."""
    return Relay(get_bus(), latest_seqs, events_after)


def behind_proxies(application: Any) -> ForwardedHeaders:
    """The application, told of the person's address and scheme if a trusted proxy names them."""
    return ForwardedHeaders(
        application,
        trusted=TrustedProxies(settings.FORWARDED_ALLOW_IPS),
        on_ignored=proxy_check.record_ignored_proxy,
    )


bounded_http.install()
application = ProtocolTypeRouter(
    {
        "http": behind_proxies(BodySizeLimit(McpServer(ConcurrencyLimit(pages)))),
        "websocket": behind_proxies(
            DaphneBackpressure(OriginGuard(RelayOnDemand(sockets, make_relay)))
        ),
        "lifespan": Lifespan(make_relay),
    }
)
