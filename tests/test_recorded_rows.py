"""Rows that are repeated from a recording are those that services make (tests/support/recorded_rows.py)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from tests.support import recorded_rows, world

NEW_EACH_TIME = (UUID, datetime)


def facts() -> dict[str, list[str]]:
    """What every table holds, besides ids, times and the salted password."""
    return {
        model.__name__: sorted(
            str({name: value for name, value in row.items() if not is_new(name, value)})
            for row in model._base_manager.values()
        )
        for model in apps.get_models()
    }


def is_new(name: str, value: Any) -> bool:
    return isinstance(value, NEW_EACH_TIME) or name in {"password", "object_id"}


def in_the_database(row: Model) -> dict[str, Any]:
    return {
        field.attname: getattr(type(row)._base_manager.get(pk=row.pk), field.attname)
        for field in row._meta.concrete_fields
    }


def test_repeated_world_has_the_rows_of_services_with_ids_of_its_own(db):
    with transaction.atomic():
        by_services = world._make_world("Harbor", {})
        expected = facts()
        transaction.set_rollback(True)
    with transaction.atomic():
        world.make_world()
        transaction.set_rollback(True)
    repeated = world.make_world()
    assert any("world" in str(key) for key in recorded_rows._recordings)
    assert facts() == expected
    for row in (repeated.user, repeated.project, repeated.owner, repeated.agent):
        assert in_the_database(row) == {name: getattr(row, name) for name in in_the_database(row)}
    assert repeated.agent.project is repeated.project
    assert repeated.user.pk != by_services.user.pk
    assert repeated.role("agent").project_id == repeated.project.pk
