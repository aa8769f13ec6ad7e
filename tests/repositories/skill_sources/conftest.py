"""A project, its API, and a git server with a public repository of skills."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from paca.repositories.skill_sources import fetching
from tests.repositories.skill_sources.actions import BOATS, PLAN, SAILS
from tests.support.api import Api
from tests.support.git_server import GitServer
from tests.support.world import World, make_world


@pytest.fixture
def world() -> World:
    cache.clear()
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator[GitServer]:
    """A public repository ``kit`` with two skills."""
    settings.PACA_DATA_DIR = tmp_path / "data"
    settings.PACA_DATA_DIR.mkdir()
    with GitServer(tmp_path / "git", header="") as found:
        settings.PRIVATE_GIT_SERVERS = [f"127.0.0.1:{found.port}"]
        found.create(
            "kit",
            {
                "README.md": b"A kit.\n",
                "skills/boats/SKILL.md": BOATS,
                "skills/boats/plan.md": PLAN,
                "skills/boats/build.py": b"print('boat')\n",
                "skills/sails/SKILL.md": SAILS,
            },
        )
        yield found
        assert list((settings.PACA_DATA_DIR / fetching.FOLDER).glob("*")) == []
