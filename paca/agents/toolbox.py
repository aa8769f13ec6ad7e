"""The tools of an agent."""

import functools
from collections.abc import Collection

from paca.agents.skill_tools import SkillLibrary, skill_tools
from paca.engine.approvals.person_tools import people_tools
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.projects.tools.all_tools import project_tools
from paca.projects.tools.base import ProjectAccess

# All tools take about 5,000 tokens of each request. A model whose window is smaller than this gets those
# that work needs most, unless somebody has chosen its tools.
SMALL_WINDOW = 8_000  # tokens
ESSENTIAL = (
    *("add_comment", "ask_person", "bash", "edit_file", "propose_plan", "read_file", "read_task"),
    *("update_task", "write_file"),
)


def make_toolbox(
    access: ProjectAccess | None = None,
    library: SkillLibrary | None = None,
    *,
    chosen: Collection[str] | None = None,
    window: int | None = None,
) -> Toolbox:
    """The toolbox of an agent that reaches its project by ``access`` and has the skills of ``library``.

    Without them it has every tool, to describe only. ``chosen`` are the names of the tools that are
    switched on; None for all, or for the essential ones if the ``window`` of the model, in tokens, is small.

    Name, description and arguments of the tools are the same in every run, so that requests begin with
    the same bytes.
    """
    tools = (*workspace_tools(), *people_tools(), *project_tools(access), *skill_tools(library))
    if chosen is None and window is not None and window < SMALL_WINDOW:
        # guard: toolbox-fits-a-small-window
        chosen = ESSENTIAL
    off = () if chosen is None else {tool.name for tool in tools}.difference(chosen)
    return Toolbox(tools, off=off)


@functools.cache
def tool_names() -> tuple[str, ...]:
    """The names of all tools that an agent can have, in the order of the toolbox."""
    return tuple(spec.name for spec in make_toolbox().specs())
