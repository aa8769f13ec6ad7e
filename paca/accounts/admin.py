"""The admin's pages for people, tokens and the audit trail."""

from typing import Any

import allauth.account.admin  # noqa: F401 - it registers what is taken out below
from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from paca.accounts import audit
from paca.accounts.models import ApiToken, AuditEntry, User
from paca.accounts.services import tokens
from paca.common.admin import ReadOnlyAdmin, ServiceAdmin

# The admin uses the site's sign-in page, because that page limits failed attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = admin.site.site_title = "Paca"

# Paca uses neither groups nor e-mail addresses of allauth.
for unused in (Group, EmailAddress):
    admin.site.unregister(unused)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ServiceAdmin):  # type: ignore[type-arg] # not generic at run time
    """People. An inactive person can do nothing any more; what they did stays."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "name", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    search_fields = ("username", "name", "email")
    ordering = ("username",)
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("username", "password", "name", "email")}),
        ("Access", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Activity", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "name", "usable_password", "password1", "password2")}),
    )

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        by = request.user if isinstance(request.user, User) else None
        fields = [name for name in form.changed_data if "password" not in name]
        audit.record("person.changed" if change else "person.created", obj, by=by, fields=fields)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """API tokens, read-only apart from revoking. People and ``create_token`` make them."""

    list_display = ("name", "token_key", "user", "scopes", "created_at", "expiry", "last_used_at")
    list_filter = ("user",)
    search_fields = ("name", "token_key", "user__username")
    list_select_related = ("user",)
    fields = list_display
    actions = ("revoke",)

    @action(description="Revoke the selected tokens")  # type: ignore[untyped-decorator]
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        by = request.user if isinstance(request.user, User) else None
        found = list(queryset.select_related("user"))
        for token in found:
            tokens.revoke(token, by=by)
        self.message_user(request, f"{len(found)} tokens revoked.")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail, read-only."""

    list_display = ("created_at", "actor", "actor_name", "action", "object_type", "object_name")
    list_filter = ("action", "actor", "object_type")
    search_fields = ("actor_name", "object_name", "object_id", "request_id")
    fields = (*list_display, "object_id", "project_id", "facts", "request_id", "ip")
