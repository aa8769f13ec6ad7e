"""Admin pages of workspaces, projects, roles and members."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.decorators import action
from unfold.widgets import UnfoldAdminTextareaWidget

from paca.accounts import permission_patterns
from paca.common.admin import ServiceAdmin, error_text
from paca.common.errors import PacaError
from paca.projects.models import Member, Project, Role, Workspace, WorkspaceMember
from paca.projects.services import members, projects, roles, workspaces


class PeopleInline(TabularInline):  # type: ignore[misc] # unfold has no types
    """The people of a workspace. Only they can be added to its projects."""

    model = WorkspaceMember
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Workspace)
class WorkspaceAdmin(ServiceAdmin):
    """Workspaces and their people."""

    list_display = ("name", "created_at")
    search_fields = ("name",)
    inlines = (PeopleInline,)

    def save_model(self, request: Any, obj: Workspace, form: Any, change: bool) -> None:
        if change:
            workspaces.rename(obj, name=obj.name, by=request.user)
        else:
            made = workspaces.create(obj.name, owner=request.user, by=request.user)
            obj.__dict__.update(made.__dict__)

    def save_formset(self, request: Any, form: Any, formset: Any, change: bool) -> None:
        formset.save(commit=False)
        for entry in formset.new_objects:
            workspaces.add_person(form.instance, user=entry.user, role=entry.role, by=request.user)
        for entry, _ in formset.changed_objects:
            workspaces.change_role(entry, role=entry.role, by=request.user)
        for entry in formset.deleted_objects:
            workspaces.remove_person(entry, by=request.user)


LIMITS = ("limit_month_tokens", "limit_month_cost_usd")


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg] # not generic at run time
    """Lets the prefix of a new project be empty; it is then derived from the name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.fields["prefix"].required = False


@admin.register(Project)
class ProjectAdmin(ServiceAdmin):
    """Projects of all workspaces. The person who makes a project becomes its owner."""

    form = ProjectForm
    list_display = ("name", "workspace", "created_at")
    list_filter = ("workspace",)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        return Project.objects.live().select_related("workspace")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("workspace",) if obj else ()

    def save_model(self, request: Any, obj: Project, form: Any, change: bool) -> None:
        if change:
            given = {name: form.cleaned_data[name] for name in form.changed_data}
            projects.change(obj, by=request.user, **given)
        else:
            made = projects.create(
                obj.workspace,
                obj.name,
                by=request.user,
                description=obj.description,
                prefix=obj.prefix,
            )
            if limits := {name: obj.__dict__[name] for name in LIMITS if obj.__dict__[name]}:
                projects.change(made, by=request.user, **limits)
            obj.__dict__.update(made.__dict__)


class RoleForm(forms.ModelForm):  # type: ignore[type-arg] # not generic at run time
    """Shows the permissions of a role as text, one a line."""

    permissions = forms.CharField(
        widget=UnfoldAdminTextareaWidget,
        required=False,
        help_text=f"One a line: *, a group such as agents:*, or {', '.join(permission_patterns.PERMISSIONS)}.",
    )

    class Meta:
        model = Role
        fields = ("project", "name", "permissions")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Validating the form overwrites the permissions of the instance.
        self._stored_permissions = list(self.instance.permissions)
        if self.instance.permissions:
            self.initial["permissions"] = "\n".join(self.instance.permissions)

    def clean_permissions(self) -> list[str]:
        given = sorted(set(str(self.cleaned_data["permissions"]).split()))
        unknown = permission_patterns.find_unknown(given, stored=self._stored_permissions)
        if unknown:
            raise forms.ValidationError(f"{', '.join(unknown)}: no such permission.")
        return given


@admin.register(Role)
class RoleAdmin(ServiceAdmin):
    """Roles of all projects."""

    form = RoleForm
    list_display = ("name", "project", "permissions")
    list_filter = ("project",)
    search_fields = ("name", "project__name")
    list_select_related = ("project",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project",) if obj else ()

    def save_model(self, request: Any, obj: Role, form: Any, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in ("name", "permissions")}
        if change:
            roles.change(Role.objects.get(pk=obj.pk), by=request.user, **given)
        else:
            made = roles.create(obj.project, by=request.user, **given)
            obj.__dict__.update(made.__dict__)


@admin.register(Member)
class MemberAdmin(ServiceAdmin):
    """Members of all projects. Agents are not added here: an agent is a member from its creation."""

    list_display = ("name", "handle", "kind", "project", "role")
    list_filter = ("project", "kind")
    search_fields = ("user__username", "user__name", "agent__name", "agent__handle")
    autocomplete_fields = ("user",)
    actions = ("remove",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Member]:
        return Member.objects.live().with_names().select_related("project")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name", "handle", "kind", "project", "role") if obj else ("project", "user", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name", "handle", "kind", "project") if obj else ()

    def get_form(self, request: Any, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj:
            form.base_fields["role"].queryset = obj.project.roles.all()
        return form

    def save_model(self, request: Any, obj: Member, form: Any, change: bool) -> None:
        role = form.cleaned_data["role"]
        if change:
            member = Member.objects.with_names().get(pk=obj.pk)
            members.change_role(member, role=role, by=request.user)
        else:
            user = form.cleaned_data["user"]
            made = members.add_person(obj.project, user=user, role=role, by=request.user)
            obj.__dict__.update(made.__dict__)

    @action(description="Remove the selected people from their project")  # type: ignore[untyped-decorator]
    def remove(self, request: Any, queryset: QuerySet[Member]) -> None:
        for member in queryset:
            try:
                members.remove(member, by=request.user)
            except PacaError as error:
                self.message_user(request, f"{member.name}: {error_text(error)}", messages.ERROR)
