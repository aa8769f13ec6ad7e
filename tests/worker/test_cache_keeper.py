"""Workers bound the package caches, and remove those of projects that have none any more."""

import pytest
from django.test import override_settings

from paca.projects.models import Project
from paca.sandbox.package_caches import PackageCaches
from paca.worker.database import Database
from paca.worker.sandboxes import cache_keeper
from tests.support.world import make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.anyio]


@pytest.mark.parametrize("what", [{"package_cache": False}, {"deleted_at": "2030-01-01T00:00Z"}])
async def test_caches_of_projects_without_one_are_removed(tmp_path, what):
    caches, database = PackageCaches(tmp_path, "tests"), Database()
    world = await database.call(make_world)
    project = Project.objects.filter(pk=world.project.pk)
    await database.call(project.update, package_cache=True)
    folder = caches.prepare(world.project.pk)
    (folder / "big").write_bytes(bytes(20 << 20))
    (folder / "small").touch()
    with override_settings(PACKAGE_CACHE_MIB=16):
        await cache_keeper.keep(caches, database)
    assert not (folder / "big").exists()
    assert folder.exists()
    await database.call(lambda: project.update(**what))
    await cache_keeper.keep(caches, database)
    assert caches.list_projects() == []
    database.close()
