"""Admin pages of skills. They validate as the API does."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from paca.agents import catalogue, skill_archive
from paca.agents.models import Agent, Skill
from paca.agents.services import skills
from paca.agents.skill_document import SkillDocument
from paca.common.admin import ServiceAdmin
from paca.common.errors import Invalid

WRITTEN = ("name", "description", "content")


class SkillForm(forms.ModelForm):  # type: ignore[type-arg] # not generic at run time
    """A skill. A new one is written here, or brought by a template or a file."""

    template = forms.ChoiceField(
        required=False,
        label="From a template",
        choices=[("", "None"), *((slug, slug) for slug in catalogue.SKILL_TEMPLATES)],
        widget=UnfoldAdminSelectWidget,
    )
    upload = forms.FileField(
        required=False,
        label="From a file",
        help_text="A SKILL.md, or a zip of a folder with a SKILL.md and further files.",
    )
    triggers = forms.CharField(
        required=False,
        label="Keywords",
        widget=UnfoldAdminTextInputWidget,
        help_text="With commas between them. A message with one of them opens the skill, as /name does.",
    )

    class Meta:
        model = Skill
        fields = ("agent", *WRITTEN, "triggers", "always_on", "enabled")
        labels = {"content": "Text"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.files_of_upload: dict[str, bytes] = {}
        self.source = Skill.Source.INLINE
        if self.instance._state.adding:
            for name in WRITTEN:
                self.fields[name].required = False
            agent = self.fields["agent"]
            assert isinstance(agent, forms.ModelChoiceField)
            agent.queryset = Agent.objects.live().select_related("project")
        else:
            self.initial["triggers"] = ", ".join(self.instance.triggers)

    def clean_triggers(self) -> list[str]:
        words = (word.strip() for word in self.cleaned_data["triggers"].split(","))
        return [word for word in words if word]

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if self.instance._state.adding:
            brought = self._document(cleaned.get("template", ""), cleaned.get("upload"))
            if brought is not None:
                for name in (*WRITTEN, "triggers"):
                    cleaned[name] = cleaned.get(name) or getattr(brought, name)
                cleaned["triggers"] = list(cleaned["triggers"])
            for name in WRITTEN:
                if not cleaned.get(name) and name not in self.errors and not self.errors:
                    self.add_error(name, "This field is required.")
        return cleaned

    def _document(
        self, template: str, upload: "UploadedFile[bytes] | None"
    ) -> SkillDocument | None:
        """The document of the chosen template or file; None without one."""
        if template:
            self.source = Skill.Source.TEMPLATE
            return catalogue.skill_template(template)
        if upload is None:
            return None
        try:
            read = skill_archive.read(upload.read())
        except Invalid as error:
            self.add_error("upload", error.detail)
            return None
        self.source, self.files_of_upload = Skill.Source.UPLOAD, read.files
        return read.document


@admin.register(Skill)
class SkillAdmin(ServiceAdmin):
    """Skills of all agents."""

    form = SkillForm
    list_display = ("name", "agent", "source", "keywords", "always_on", "enabled")
    list_filter = ("source", "enabled", "agent__project")
    search_fields = ("name", "agent__name", "description")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Skill]:
        found = Skill.objects.filter(agent__deleted_at__isnull=True)
        return found.select_related("agent__project").defer("content")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        settings = ("description", "content", "triggers", "always_on", "enabled")
        if obj is None:
            return ("agent", "template", "upload", "name", *settings)
        return ("agent", "name", "source", "stored_files", *settings)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("agent", "name", "source", "stored_files") if obj else ()

    @display(description="Keywords")  # type: ignore[untyped-decorator]
    def keywords(self, skill: Skill) -> str:
        return ", ".join(skill.triggers)

    @display(description="Files")  # type: ignore[untyped-decorator]
    def stored_files(self, skill: Skill) -> str:
        return ", ".join(skill.files.values_list("path", flat=True)) or "none"

    def save_model(self, request: Any, obj: Skill, form: SkillForm, change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in skills.SKILL_SETTINGS}
        if change:
            skills.change(Skill.objects.get(pk=obj.pk), by=request.user, **given)
            return
        made = skills.create(
            obj.agent,
            name=form.cleaned_data["name"],
            by=request.user,
            source=form.source,
            files=form.files_of_upload,
            **given,
        )
        obj.__dict__.update(made.__dict__)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Yes: what conversations have read of a skill stays in their logs."""
        return bool(self.has_change_permission(request, obj))

    def delete_model(self, request: Any, obj: Skill) -> None:
        skills.delete(obj, by=request.user)

    def delete_queryset(self, request: Any, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skills.delete(skill, by=request.user)
