"""The tiers of slow tests collect only some folders: each of their tests must stand in one."""

import re

import pytest

from tests.test_architecture import text_of, tracked


def folders(marks: str) -> tuple[str, ...]:
    """The folders that the Makefile names for the processes of pytest with these marks."""
    (found,) = re.findall(rf'-m "?{marks}"?((?: tests/[\w/]+)+)', text_of("Makefile"))
    return tuple(f"{folder}/" for folder in found.split())


@pytest.mark.parametrize(
    ("mark", "tiers"),
    [
        ("browser", ["browser and not docker"]),
        ("docker", ["docker", "docker and not browser", "docker and browser"]),
    ],
)
def test_slow_tests_stand_in_folders_that_their_tier_collects(mark: str, tiers: list[str]):
    collected = tuple(folder for tier in tiers for folder in folders(tier))
    marked = [
        name
        for name in tracked()
        if name.startswith("tests/")
        and name.endswith(".py")
        and re.search(rf"\bmark\.{mark}\b", text_of(name))
    ]
    assert marked
    assert [name for name in marked if not name.startswith(collected)] == []
    assert all(any(name.startswith(folder) for name in tracked()) for folder in collected)
