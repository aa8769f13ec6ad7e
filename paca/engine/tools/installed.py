"""Finds the custom tools: classes of installed packages, named by entry points of the group ``paca.tools``."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions

from paca.engine.tools.custom import BadTool, CustomTool, make_tool

logger = logging.getLogger(__name__)

GROUP = "paca.tools"


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """Why a tool of an installed package is not there. ``entry`` is the name of its entry point."""

    package: str
    entry: str
    problem: str


@dataclass(frozen=True, slots=True)
class InstalledTools:
    """The custom tools of this process, and the problems of the others."""

    tools: tuple[CustomTool, ...] = ()
    problems: tuple[ToolProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """One entry point of a package, with its tool or its problem."""

    package: str
    entry: str
    tool: CustomTool | None = None
    problem: str = ""


def load(*, taken: Collection[str]) -> InstalledTools:
    """Import every custom tool. ``taken``: the names of Paca's own tools, which no other may have.

    Nothing that a package does stops the process: its problem is logged and part of the answer.
    """
    entries, unreadable = _entry_points()
    found = [*unreadable, *(_load(package, entry) for package, entry in entries)]
    names = Counter(each.tool.name for each in found if each.tool)
    tools: list[CustomTool] = []
    problems: list[ToolProblem] = []
    for each in found:
        problem = each.problem or _name_clash(each, names, taken)
        if problem:
            problems.append(ToolProblem(each.package, each.entry, problem))
        elif each.tool is not None:
            tools.append(each.tool)
    _log(tools, problems)
    return InstalledTools(tuple(sorted(tools, key=lambda tool: tool.name)), tuple(problems))


def _entry_points() -> tuple[list[tuple[str, EntryPoint]], list[_Found]]:
    """Each entry point with the name and version of its package, in a fixed order; and the packages that cannot be read."""
    seen: set[str] = set()
    entries: list[tuple[str, EntryPoint]] = []
    unreadable: list[_Found] = []
    for package in distributions():
        try:
            entries += _entry_points_of(package, seen)
        except Exception as error:  # noqa: BLE001 - files of any package; one must not take the tools of the others
            problem = f"What it has installed cannot be read: {_describe(error)}."
            unreadable.append(_Found(_place_of(package), "", problem=problem))
    return sorted(entries, key=lambda each: (each[0], each[1].name)), unreadable


def _entry_points_of(package: Distribution, seen: set[str]) -> list[tuple[str, EntryPoint]]:
    name = (package.metadata["Name"] or "").lower().replace("_", "-")
    # The first on the path is the one that Python imports. A folder that only looks like a package,
    # such as a source tree, was not installed by anybody.
    # guard: custom-tools-are-installed
    if name in seen or not _was_installed(package):
        return []
    seen.add(name)
    chosen = package.entry_points.select(group=GROUP)
    return [(f"{name} {package.version}", entry) for entry in chosen]


def _place_of(package: Distribution) -> str:
    """The name of the folder in which an installer has described the package."""
    return str(getattr(getattr(package, "_path", None), "name", "a package"))


def _was_installed(package: Distribution) -> bool:
    """Whether an installer has listed the files that it has installed."""
    return package.read_text("RECORD") is not None


def _load(package: str, entry: EntryPoint) -> _Found:
    try:
        return _Found(package, entry.name, make_tool(entry.load(), package=package))
    except BadTool as error:
        return _Found(package, entry.name, problem=f"{error}.")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of a package must not stop a worker
        return _Found(package, entry.name, problem=f"It cannot be loaded: {_describe(error)}.")


def _describe(error: BaseException) -> str:
    """The kind of the error. Its text may hold anything, but for the name of a module that is missing."""
    kind = type(error).__name__
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return f"{kind}, there is no module {missing}" if missing else kind


def _name_clash(found: _Found, names: Counter[str], taken: Collection[str]) -> str:
    """Of two tools with one name neither is taken: a package must not replace the tool of another."""
    assert found.tool is not None
    name = found.tool.name
    # guard: custom-tools-replace-no-other
    if name in taken:
        return f"Paca has a tool {name} of its own; rename this one."
    if names[name] > 1:
        return f"Another installed tool is named {name} too; neither is used."
    return ""


def _log(tools: Collection[CustomTool], problems: Collection[ToolProblem]) -> None:
    for tool in tools:
        logger.info("custom tool loaded", extra={"tool": tool.name, "package": tool.package})
    for each in problems:
        logger.error(
            "custom tool left out",
            extra={"package": each.package, "entry": each.entry, "problem": each.problem},
        )
