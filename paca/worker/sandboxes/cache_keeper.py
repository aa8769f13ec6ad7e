"""Keeps the package caches of this machine: bounds them, and removes those of projects that have none any more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from paca.common.best_effort import tolerated
from paca.projects.models import Project
from paca.sandbox.package_caches import PackageCaches
from paca.worker.database import Database

LOOK_SECONDS = 10.0


async def keep_repeatedly(
    caches: PackageCaches, database: Database, draining: asyncio.Event
) -> None:
    """Look every ten seconds until the worker drains. Without caches a look lists an empty folder."""
    while not draining.is_set():
        with tolerated("package caches"):
            await keep(caches, database)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await draining.wait()
        except TimeoutError:
            continue


async def keep(caches: PackageCaches, database: Database) -> None:
    """Look once at all caches."""
    found = await asyncio.to_thread(caches.list_projects)
    if not found:
        return
    wanted = await database.call(with_cache, found)
    for project_id in found:
        # One that cannot be bounded keeps no other from it.
        with tolerated("package cache", project=str(project_id)):
            # guard: package-cache-of-a-project-without-one-goes
            if project_id not in wanted:
                await asyncio.to_thread(caches.remove, project_id)
            else:
                most = settings.PACKAGE_CACHE_MIB
                await asyncio.to_thread(caches.prune, project_id, most_mib=most)


def with_cache(project_ids: Sequence[UUID]) -> set[UUID]:
    """The projects among these that have a package cache."""
    rows = Project.objects.filter(pk__in=project_ids, package_cache=True, deleted_at=None)
    return set(rows.values_list("pk", flat=True))
