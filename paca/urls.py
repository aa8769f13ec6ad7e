"""Every address of Paca, by the part that answers it."""

from django.contrib import admin
from django.urls import path

from paca.web import health

urlpatterns = [
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("admin/", admin.site.urls),
]
