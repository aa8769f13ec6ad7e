"""The REST endpoint for tickets: for clients that can send a header with a request but not with a socket."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.realtime import tickets


class TicketSerializer(serializers.Serializer[dict[str, str]]):
    """A ticket: put it into the socket's address as ``?ticket=``."""

    ticket = serializers.CharField()


class TicketList(ApiView):
    """Tickets for sockets."""

    required_permission = "conversations:read"

    @extend_schema(request=None, responses={201: TicketSerializer}, tags=["sockets"])
    def post(self, request: Request) -> Response:
        """Get a ticket. It opens one socket within 30 seconds, as you and within your token's scopes."""
        if self.token is not None:
            ticket = tickets.issue(self.person, token_id=self.token.pk)
        else:
            ticket = tickets.issue(self.person, session_key=request.session.session_key or "")
        return Response({"ticket": ticket}, status=201)
