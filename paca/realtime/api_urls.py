"""Addresses below ``/api/v1/``: tickets for sockets."""

from django.urls import path

from paca.realtime import api

urlpatterns = [path("tickets/", api.Tickets.as_view(), name="tickets")]
