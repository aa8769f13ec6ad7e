"""Which folders are skills, whatever a repository holds."""

import json

from paca.repositories.skill_sources import marketplace
from paca.repositories.skill_sources.fetching import TreeEntry
from paca.repositories.skill_sources.reading import SkillFolders


def entry(path: str) -> TreeEntry:
    return TreeEntry(path, "100644", "0" * 40, 1)


def test_folder_with_a_long_path_is_no_skill() -> None:
    longest, longer = "a" * 200, "b" * 201
    folders = SkillFolders([entry(f"{longest}/SKILL.md"), entry(f"{longer}/SKILL.md")])
    assert folders.names == [longest]


def test_file_belongs_to_the_nearest_skill_above_it_however_deep_it_is() -> None:
    deep = "a/" * 1000
    paths = ["SKILL.md", "a/a/SKILL.md", f"{deep}x", "b/x", f"{'a/' * 100}SKILL.md"]
    folders = SkillFolders([entry(path) for path in paths])
    found = {name: [each.path for each in folders.files_of(name)] for name in folders.names}
    assert found[""] == ["SKILL.md", "b/x"]
    assert found["a/a"] == ["a/a/SKILL.md"]
    assert f"{deep}x" in found["/".join("a" * 100)]


def test_marketplace_is_compared_with_few_folders() -> None:
    listed = {"plugins": [{"name": "all", "source": "./"}, {"name": "last", "source": "./1500"}]}
    folders = [f"{number:04}" for number in range(2000)]
    found = marketplace.read({marketplace.PATHS[0]: json.dumps(listed).encode()}, folders)
    assert found is not None
    everything, last = found.plugins
    assert len(everything.folders) == 50
    assert last.folders == ()
