"""The event log of a conversation over the API: pages of events, all of it as a file, and full outputs."""

from collections.abc import Iterable
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from paca.common.api.downloads import download
from paca.common.errors import NotFound
from paca.conversations import event_log, export, full_outputs, selectors
from paca.conversations.api.inputs import EventsQuery, ExportQuery
from paca.conversations.api.serializers import LogPageSerializer, conversation_object
from paca.projects.api.base import ProjectView


class Events(ProjectView):
    """The events of a conversation."""

    required_permission = "conversations:read"

    @extend_schema(parameters=[EventsQuery], responses=LogPageSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> HttpResponse:
        """Read events after a number, before one, or the newest; always in their order."""
        query = EventsQuery.read_query(request)
        conversation = selectors.get(self.project, conversation_id)
        # The stored JSON text is sent as it is: to decode and encode it again costs more than to read it.
        page = event_log.page(conversation, **query)
        return HttpResponse(page.json(), content_type="application/json")


class FirstRendererNegotiation(BaseContentNegotiation):
    """Leaves ``?format=`` to the view: here it names the form of the export, not a renderer."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class Export(ProjectView):
    """The whole conversation as a file."""

    required_permission = "conversations:read"
    content_negotiation_class = FirstRendererNegotiation

    @extend_schema(
        parameters=[ExportQuery],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/markdown"): OpenApiTypes.STR,
        },
        tags=["conversations"],
    )
    def get(self, request: Request, conversation_id: UUID) -> HttpResponseBase:
        """Download it: ``json`` has every event as it is stored, ``markdown`` is for reading."""
        query = ExportQuery.read_query(request)
        conversation = selectors.get(self.project, conversation_id)
        if query["format"] == "markdown":
            return download_file(export.to_markdown(conversation))
        return download_file(export.to_json(conversation, conversation_object(conversation)))


class FullOutput(ProjectView):
    """The full output of a tool call as a file."""

    required_permission = "conversations:read"
    content_negotiation_class = FirstRendererNegotiation

    @extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR}, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID, call_id: str) -> HttpResponseBase:
        """Download the output of which the log has the beginning and the end.

        It is kept for calls whose result has ``full_output_bytes``, up to 50 MiB of each.
        """
        conversation = selectors.get(self.project, conversation_id)
        return download_file(full_outputs.to_file(conversation, _call_id(call_id)))


def _call_id(text: str) -> UUID:
    """The id of a call as events have it. Raises ``NotFound``."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no call of this id.") from None


def download_file(exported: export.ExportFile) -> HttpResponseBase:
    """The response with a finished file."""
    return download(
        exported.file,
        name=exported.name,
        content_type=exported.content_type,
        size_bytes=exported.size,
    )
