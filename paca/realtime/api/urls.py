"""URLs below ``/api/v1/``: tickets for sockets."""

from django.urls import path

from paca.realtime.api import tickets

urlpatterns = [path("tickets/", tickets.TicketList.as_view(), name="tickets")]
