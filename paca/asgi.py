"""The ASGI application: pages and the API by Django, sockets by ``paca.realtime``."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "paca.settings")
pages = get_asgi_application()

# Django must be set up before anything that imports its models.
from paca.bus import get_bus  # noqa: E402
from paca.ops import split_deployment  # noqa: E402
from paca.ops.daphne.backpressure import DaphneBackpressure  # noqa: E402
from paca.realtime.database import events_after, latest_seqs  # noqa: E402
from paca.realtime.origin_check import OriginGuard  # noqa: E402
from paca.realtime.relay import Lifespan, Relay, RelayOnDemand  # noqa: E402
from paca.realtime.routing import sockets  # noqa: E402
from paca.web.middleware.body_size_limit import BodySizeLimit  # noqa: E402
from paca.web.middleware.concurrency_limit import ConcurrencyLimit  # noqa: E402

# Any server may import this module, and only `manage.py up` saves generated secrets.
split_deployment.check_secrets_are_saved()


def make_relay() -> Relay:
    """The hub of this web process, which reads the bus and the database."""
    return Relay(get_bus(), latest_seqs, events_after)


application = ProtocolTypeRouter(
    {
        "http": BodySizeLimit(ConcurrencyLimit(pages)),
        "websocket": DaphneBackpressure(OriginGuard(RelayOnDemand(sockets, make_relay))),
        "lifespan": Lifespan(make_relay),
    }
)
