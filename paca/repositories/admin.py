"""Admin pages of repositories and connections to git servers. They show no secret; the project's page changes them."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from paca.common.admin import ReadOnlyAdmin
from paca.repositories.models import GitConnection, Repository


@admin.register(GitConnection)
class GitConnectionAdmin(ReadOnlyAdmin):
    """Connections of all projects, without their secrets."""

    list_display = ("name", "project", "kind", "base_url", "auth", "account")
    list_filter = ("kind", "auth", "project")
    search_fields = ("name", "base_url", "project__name")
    fields = (
        "project",
        "name",
        "kind",
        "base_url",
        "auth",
        "username",
        "app_id",
        "installation_id",
        "account",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[GitConnection]:
        return GitConnection.objects.select_related("project")


@admin.register(Repository)
class RepositoryAdmin(ReadOnlyAdmin):
    """Repositories of all projects, without their webhook secrets."""

    list_display = ("name", "project", "url", "state", "contacted_at")
    list_filter = ("state", "project")
    search_fields = ("name", "url", "project__name")
    fields = (
        "project",
        "connection",
        "name",
        "url",
        "default_branch",
        "allow_default_branch",
        "clone_at_start",
        "reviews",
        "reviewers",
        "state",
        "problem",
        "contacted_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Repository]:
        return Repository.objects.select_related("project", "connection")
