"""Reads a ``marketplace.json``: a list of plugins, each with skills of the same repository or of another one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from paca.common.errors import Invalid
from paca.common.text import to_storable
from paca.repositories.skill_sources import address
from paca.repositories.skill_sources.address import SkillSource

PATHS = (".claude-plugin/marketplace.json", "marketplace.json")
MAX_PLUGINS, MAX_NAME, MAX_DESCRIPTION = 200, 100, 500
# The folders of a repository times the rows of its list would take hours.
MAX_COMPARED, MAX_LISTED = 1000, 50
GITHUB = "https://github.com/"


@dataclass(frozen=True, slots=True)
class MarketplacePlugin:
    """A plugin of a marketplace: folders of skills in the same repository, or ``elsewhere`` another one."""

    name: str
    description: str
    folders: tuple[str, ...] = ()
    elsewhere: SkillSource | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Marketplace:
    """A list of plugins. ``problem``: why its file cannot be read."""

    name: str
    plugins: tuple[MarketplacePlugin, ...] = ()
    problem: str = ""


def read(data: Mapping[str, bytes], skill_folders: Sequence[str]) -> Marketplace | None:
    """The marketplace among these files; None if there is none. ``skill_folders``: the folders with a ``SKILL.md``."""
    found = next((data[path] for path in PATHS if path in data), None)
    if found is None:
        return None
    try:
        value = json.loads(found)
        rows = value["plugins"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return Marketplace("", problem="The marketplace.json of the repository cannot be read.")
    if not isinstance(rows, list):
        return Marketplace(
            "", problem="The marketplace.json of the repository has no list plugins."
        )
    metadata = value.get("metadata")
    root = metadata.get("pluginRoot") if isinstance(metadata, dict) else ""
    # guard: marketplace-is-compared-with-few-folders
    compared = skill_folders[:MAX_COMPARED]
    plugins = [_plugin(row, root, compared) for row in rows[:MAX_PLUGINS]]
    return Marketplace(
        _text(value.get("name"), MAX_NAME), tuple(each for each in plugins if each is not None)
    )


def _plugin(row: Any, root: Any, skill_folders: Sequence[str]) -> MarketplacePlugin | None:
    if not isinstance(row, dict) or not _text(row.get("name"), MAX_NAME):
        return None
    named = (_text(row["name"], MAX_NAME), _text(row.get("description"), MAX_DESCRIPTION))
    source = row.get("source")
    if isinstance(source, dict):
        elsewhere = _elsewhere(source)
        problem = "" if elsewhere else "It is not in git, or its address is not taken."
        return MarketplacePlugin(*named, elsewhere=elsewhere, problem=problem)
    folders = _folders(row, source, root, skill_folders)
    return MarketplacePlugin(
        *named, folders=folders, problem="" if folders else "It has no skills that Paca takes."
    )


def _folders(
    row: dict[str, Any], source: Any, root: Any, skill_folders: Sequence[str]
) -> tuple[str, ...]:
    """The folders of its skills: those below its own folder, or only those that it lists."""
    bases = [_path(root, source), _path(source)]
    listed = row.get("skills")
    for base in bases:
        if base is None:
            continue
        paths: list[str | None] = [base]
        if listed:
            rows = listed if isinstance(listed, list) else [listed]
            paths = [_path(base, each) for each in rows[:MAX_LISTED]]
        found = [
            folder
            for folder in skill_folders
            if any(path is not None and _is_at_or_below(folder, path) for path in paths)
        ]
        if found:
            return tuple(sorted(found)[:MAX_LISTED])
    return ()


def _elsewhere(source: dict[str, Any]) -> SkillSource | None:
    kind, ref = source.get("source"), source.get("sha") or source.get("ref") or ""
    url = source.get("url", "")
    if kind == "github" or (isinstance(url, str) and "://" not in url and kind == "git-subdir"):
        repository = source.get("repo") or url
        url = f"{GITHUB}{repository}" if isinstance(repository, str) and repository else ""
    elif kind not in ("url", "git", "git-subdir"):
        return None
    folder = source.get("path", "") if kind == "git-subdir" else ""
    if not all(isinstance(each, str) for each in (url, ref, folder)):
        return None
    try:
        return address.parse(url, ref, folder)
    except Invalid:
        return None


def _path(*parts: Any) -> str | None:
    """The parts as a path in the repository; None if they lead out of it, or are no texts."""
    names: list[str] = []
    for part in parts:
        if part is None or part == "":
            continue
        if not isinstance(part, str):
            return None
        names += [name for name in PurePosixPath(part).parts if name not in ("/", ".")]
    return None if ".." in names else "/".join(names)


def _is_at_or_below(folder: str, path: str) -> bool:
    return not path or folder == path or folder.startswith(f"{path}/")


def _text(value: Any, limit: int) -> str:
    return to_storable(" ".join(value.split()))[:limit] if isinstance(value, str) else ""
