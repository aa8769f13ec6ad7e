"""Admin pages of agents. They validate as the API does, and never show a stored key."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.decorators import action, display
from unfold.widgets import (
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from paca.agents import connection_check
from paca.agents import services as agents
from paca.agents.model_parameters import NAMES
from paca.agents.models import Agent
from paca.agents.services.checks import MAX_KEY_CHARACTERS
from paca.agents.toolbox import tool_names
from paca.common.admin import ServiceAdmin, error_text
from paca.common.errors import PacaError
from paca.projects.models import Role


class RoleChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg] # not generic at run time
    """Shows the project of each role, because all projects have roles of the same names."""

    def label_from_instance(self, obj: Role) -> str:
        return f"{obj.project}: {obj}"


class AgentForm(forms.ModelForm):  # type: ignore[type-arg] # not generic at run time
    """All settings of an agent. Errors of the services are shown beside the fields."""

    role = RoleChoiceField(
        queryset=Role.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text="The permissions of the agent, whoever gives it work.",
    )
    new_llm_key = forms.CharField(
        required=False,
        label="New key",
        max_length=MAX_KEY_CHARACTERS,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown again. Empty: the stored key stays.",
    )
    tools = forms.MultipleChoiceField(
        required=False,
        choices=lambda: [
            (name, name) for name in tool_names()
        ],  # custom tools load at the first use
        widget=UnfoldAdminSelectMultipleWidget,
        help_text="All chosen: also those of later versions. None chosen: it has no tools.",
    )
    persona = forms.CharField(
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text="The slug of a predefined persona, or the id of one of the project.",
    )
    forget_llm_key = forms.BooleanField(
        required=False, label="Delete the stored key", widget=UnfoldBooleanSwitchWidget
    )

    class Meta:
        model = Agent
        fields = ("project", "role", *sorted(agents.SETTINGS))
        labels = {
            "agent_type": "Type",
            "base_url": "Base URL",
            "text_tool_calls": "Tool calls as text",
            "fallback_model": "Fallback model",
            "fallback_base_url": "Base URL of the fallback",
            "fallback_parameters": "Parameters of the fallback",
            "fallback_text_tool_calls": "Tool calls as text of the fallback",
            "efforts": "Efforts",
            "task_assigned_prompt": "When a task is assigned",
            "comment_mention_prompt": "When it is mentioned",
            "chat_message_prompt": "In a chat",
            "description_write_prompt": "When it writes a description",
            "execute_prompt": "When a program starts it",
            "system_prompt": "System prompt",
            "limit_steps": "Steps",
            "limit_tokens": "Tokens",
            "limit_cost_usd": "Cost in US dollars",
            "limit_seconds": "Seconds",
            "limit_turn_tokens": "Tokens of a turn",
            "limit_turn_cost_usd": "Cost of a turn in US dollars",
            "limit_day_tokens": "Tokens of a day",
            "limit_day_cost_usd": "Cost of a day in US dollars",
            "limit_concurrent": "Conversations at once",
            "limit_helpers": "Helpers of one call",
            "sandbox_memory_mib": "Memory in MiB",
            "sandbox_cpus": "Cores",
            "sandbox_disk_mib": "Disk in MiB",
            "sandbox_files": "Files",
            "sandbox_life": "When it is unused",
            "sandbox_network": "Network",
            "sandbox_image": "Image",
            "setup_commands": "Setup",
            "git_name": "Name",
            "git_email": "E-mail",
        }
        help_texts = {
            "parameters": f'A JSON object, such as {{"effort": "high"}}, of {", ".join(NAMES)}.'
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        role = self.fields["role"]
        assert isinstance(role, forms.ModelChoiceField)
        if self.instance._state.adding:
            role.queryset = Role.objects.filter(project__deleted_at=None).select_related("project")
        else:
            same_project = Role.objects.filter(project_id=self.instance.project_id)
            role.queryset = same_project.select_related("project")
            self.initial["role"] = self.instance.member.role_id
        self.initial["persona"] = self.instance.persona
        # A planned change may come while the form is open.
        self.fields["status"].show_hidden_initial = True
        if self.instance.tools is None:
            self.initial["tools"] = list(tool_names())

    @property
    def new_key(self) -> str | None:
        """The key to store; empty to delete the stored one, None to keep it."""
        given: str = self.cleaned_data.get("new_llm_key", "").strip()
        return given or ("" if self.cleaned_data.get("forget_llm_key") else None)

    def clean_handle(self) -> str:
        return agents.normalize_handle(self.cleaned_data["handle"])

    def clean_parameters(self) -> Any:
        return self.cleaned_data["parameters"] or {}

    def clean_fallback_parameters(self) -> Any:
        return self.cleaned_data["fallback_parameters"] or {}

    def clean_efforts(self) -> Any:
        return self.cleaned_data["efforts"] or {}

    def clean(self) -> dict[str, Any]:
        # Does not call super(), which would make the form check the constraints. The services
        # check them too, with better messages.
        role, project = self.cleaned_data.get("role"), self.cleaned_data.get("project")
        if role and project and role.project_id != project.pk:
            self.add_error("role", "This role belongs to another project.")
        return self.cleaned_data

    def _post_clean(self) -> None:
        self.instance.persona = self.cleaned_data.get("persona", "")
        super()._post_clean()  # type: ignore[misc] # fills the instance; the stubs leave it out
        if "project" in self.errors:
            return
        errors = agents.find_errors(self.instance, new_key=self.new_key)
        errors["new_llm_key"] = errors.pop("llm_api_key", [])
        errors["fallback_model"] = [
            *errors.pop("fallback_model", []),
            *errors.pop("fallback_api_key", []),
        ]
        for name, texts in errors.items():
            if texts and name not in self.errors:
                self.add_error(name if name in self.fields else None, texts)


@admin.register(Agent)
class AgentAdmin(ServiceAdmin):
    """Agents of all projects."""

    form = AgentForm
    list_display = ("name", "handle", "project", "model", "status", "stored_key")
    list_filter = ("project", "status", "category", "priority")
    search_fields = ("name", "handle", "model")
    readonly_fields = ("stored_key",)
    actions = ("test_connections", "retire")
    actions_submit_line = ("save_and_test",)
    fieldsets = (
        (None, {"fields": ("project", "role", "name", "handle", "description", "status")}),
        (
            "Catalogue",
            {"classes": ["tab"], "fields": ("agent_type", "category", "tags", "priority")},
        ),
        (
            "Model",
            {
                "classes": ["tab"],
                "fields": (
                    "model",
                    "base_url",
                    "stored_key",
                    "new_llm_key",
                    "forget_llm_key",
                    "parameters",
                    "text_tool_calls",
                    "tools",
                ),
            },
        ),
        (
            "Fallback and effort",
            {
                "classes": ["tab"],
                "fields": (
                    "fallback_model",
                    "fallback_base_url",
                    "fallback_parameters",
                    "fallback_text_tool_calls",
                    "efforts",
                ),
            },
        ),
        (
            "Prompts",
            {
                "classes": ["tab"],
                "fields": (
                    "system_prompt",
                    "persona",
                    "task_assigned_prompt",
                    "comment_mention_prompt",
                    "chat_message_prompt",
                    "description_write_prompt",
                    "execute_prompt",
                ),
            },
        ),
        (
            "Limits",
            {
                "classes": ["tab"],
                "fields": (
                    "limit_steps",
                    "limit_tokens",
                    "limit_cost_usd",
                    "limit_seconds",
                    "limit_turn_tokens",
                    "limit_turn_cost_usd",
                    "limit_day_tokens",
                    "limit_day_cost_usd",
                    "limit_concurrent",
                    "limit_helpers",
                    "auto_start",
                ),
            },
        ),
        (
            "Sandbox",
            {
                "classes": ["tab"],
                "fields": (
                    "sandbox_memory_mib",
                    "sandbox_cpus",
                    "sandbox_disk_mib",
                    "sandbox_files",
                    "sandbox_life",
                    "sandbox_network",
                    "sandbox_image",
                    "setup_commands",
                ),
            },
        ),
        (
            "Approval",
            {
                "classes": ["tab"],
                "fields": ("approval", "allowed_commands", "plan_mode", "teams", "tracing"),
            },
        ),
        (
            "Reminders",
            {"classes": ["tab"], "fields": ("verification", "verification_prompt", "hint")},
        ),
        ("Memory", {"classes": ["tab"], "fields": ("memory", "remember_at_end")}),
        ("Git", {"classes": ["tab"], "fields": ("git_name", "git_email")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        return Agent.objects.live().select_related("project", "member__role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("stored_key", "project") if obj else ("stored_key",)

    @display(description="Stored key")  # type: ignore[untyped-decorator]
    def stored_key(self, agent: Agent) -> str:
        if not agent.has_key:
            return "none"
        return f"…{agent.key_last4}" if agent.key_last4 else "set"

    def save_model(self, request: Any, obj: Agent, form: AgentForm, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in agents.SETTINGS}
        role = form.cleaned_data["role"]
        if change:
            # guard: admin-form-keeps-a-status-that-changed-meanwhile
            if "status" not in form.changed_data:
                given["status"] = form.initial["status"]
            agents.configure(obj, by=request.user, role=role, llm_api_key=form.new_key, **given)
        else:
            made = agents.create(
                obj.project, by=request.user, role=role, llm_api_key=form.new_key or "", **given
            )
            obj.__dict__.update(made.__dict__)
        for button in self.get_actions_submit_line(request, obj.pk):
            if button.action_name in request.POST:
                # After the commit: a slow provider must not hold the database's write lock.
                transaction.on_commit(partial(button.method, request, obj))

    def response_post_save_change(self, request: HttpRequest, obj: Agent) -> HttpResponse:
        """After a connection check the form stays open, so that its result can be acted on."""
        if any(name.endswith("save_and_test") for name in request.POST):
            return HttpResponseRedirect(request.get_full_path())
        response: HttpResponse = super().response_post_save_change(request, obj)
        return response

    @action(description="Save and test connection")  # type: ignore[untyped-decorator]
    def save_and_test(self, request: HttpRequest, obj: Agent) -> None:
        self._check_connection(request, obj)

    @action(description="Test the connection of the selected agents")  # type: ignore[untyped-decorator]
    def test_connections(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        for agent in queryset:
            self._check_connection(request, agent)

    @action(description="Retire the selected agents")  # type: ignore[untyped-decorator]
    def retire(self, request: Any, queryset: QuerySet[Agent]) -> None:
        for agent in queryset:
            try:
                agents.retire(agent, by=request.user)
            except PacaError as error:
                self.message_user(request, f"{agent.name}: {error_text(error)}", messages.ERROR)

    def _check_connection(self, request: HttpRequest, agent: Agent) -> None:
        result = connection_check.run(agent)
        level = messages.SUCCESS if result.works else messages.ERROR
        self.message_user(request, f"{agent.name}: {result.detail}", level)
