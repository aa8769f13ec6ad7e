"""The tools of an agent."""

from paca.agents.skill_tools import SkillLibrary, skill_tools
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.projects.tools.all_tools import project_tools
from paca.projects.tools.base import ProjectAccess


def make_toolbox(
    access: ProjectAccess | None = None, library: SkillLibrary | None = None
) -> Toolbox:
    """The toolbox of an agent that reaches its project by ``access`` and has the skills of ``library``.

    Without them it has every tool, to describe only.

    Name, description and arguments of the tools are the same in every run, so that requests begin with
    the same bytes.
    """
    return Toolbox([*workspace_tools(), *project_tools(access), *skill_tools(library)])
