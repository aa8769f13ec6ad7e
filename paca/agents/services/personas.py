"""Services that add, change and delete the personas of a project."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from paca.accounts import audit
from paca.agents import persona_catalogue
from paca.agents.models import Agent, Persona
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects.models import Project
from paca.projects.signals import project_changed

SETTINGS = frozenset({"name", "category", "text"})
MAX_PERSONAS = 50


class TooManyPersonas(Conflict):
    """This project has as many personas as a project can have. Delete one of them."""

    code = "too_many_personas"


class PersonaInUse(Conflict):
    """Agents have this persona. Give them another one first."""

    code = "persona_in_use"


@transaction.atomic
def create(
    project: Project, *, by: audit.HasActor | None, template: str = "", **settings: Any
) -> Persona:
    """Add a persona. What ``settings`` lack is that of the predefined persona ``template``, if one is given.

    Raises ``Invalid`` with the errors of each field, and ``TooManyPersonas``.
    """
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)
    if project.personas.count() >= MAX_PERSONAS:
        raise TooManyPersonas
    if template:
        found = persona_catalogue.find(template)
        if found is None:
            raise Invalid(fields={"template": ["There is no such predefined persona."]})
        settings = {
            "name": f"{found.name} of ours",
            "category": found.category,
            "text": found.text,
            **settings,
        }
    persona = Persona(project=project)
    _apply(persona, settings)
    persona.save(force_insert=True)
    _record("persona.created", persona, by=by)
    return persona


@transaction.atomic
def change(persona: Persona, *, by: audit.HasActor | None, **settings: Any) -> Persona:
    """Change the given ones of ``SETTINGS``. Agents that have it use the new text from their next turn on.

    Raises ``Invalid`` with the errors of each field.
    """
    before = {name: getattr(persona, name) for name in SETTINGS}
    _apply(persona, settings)
    changed = sorted(name for name in SETTINGS if before[name] != getattr(persona, name))
    if changed:
        persona.save()
        _record("persona.changed", persona, by=by, fields=changed)
    return persona


@transaction.atomic
def delete(persona: Persona, *, by: audit.HasActor | None) -> None:
    """Delete a persona that no agent has. Raises ``PersonaInUse`` with the names of the agents that have it."""
    users = Agent.objects.live().filter(own_persona=persona).order_by("name")
    names = list(users.values_list("name", flat=True)[:10])
    # guard: persona-in-use-stays
    if names:
        raise PersonaInUse(f"{', '.join(names)} have this persona. Give them another one first.")
    _record("persona.deleted", persona, by=by)
    persona.delete()


def _apply(persona: Persona, settings: dict[str, Any]) -> None:
    for field, value in settings.items():
        if field not in SETTINGS:
            raise TypeError(f"a persona has no setting {field!r}")
        setattr(persona, field, value)
    persona.name = " ".join(persona.name.split())
    persona.text = persona.text.strip()
    validation.check(persona)


def _record(action: str, persona: Persona, *, by: audit.HasActor | None, **facts: Any) -> None:
    audit.record(action, persona, by=by, project_id=persona.project_id, **facts)
    project_changed.send(
        sender=Persona, project_id=persona.project_id, noun="persona", id=persona.pk
    )
