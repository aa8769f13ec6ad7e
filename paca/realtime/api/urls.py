"""URLs below ``/api/v1/``: tickets for sockets."""

from django.urls import path

from paca.realtime.api import tickets

urlpatterns = [path("tickets/", tickets.Tickets.as_view(), name="tickets")]
