"""The tools of an agent."""

import threading
from collections.abc import Collection, Sequence

from paca.agents.memory_tool import MemoryAccess, Remember
from paca.agents.skill_tools import SkillLibrary, skill_tools
from paca.engine.approvals.delegate import DELEGATE, Delegate
from paca.engine.approvals.person_tools import ASK_TOOL, PLAN_TOOL, STEP_TOOL, people_tools
from paca.engine.helpers.requests import DEFAULT_HELPERS
from paca.engine.mcp.tools import SHARED_NAMES
from paca.engine.teams import tools as team_tools
from paca.engine.teams.tools import TeamAccess
from paca.engine.tools import installed, repositories
from paca.engine.tools.base import AnyTool
from paca.engine.tools.installed import InstalledTools
from paca.engine.tools.pull_requests import CreatePullRequest
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.engine.tools.repositories import RepositoryAccess
from paca.projects.tools.all_tools import project_tools
from paca.projects.tools.base import ProjectAccess

# All tools take about 5,000 tokens of each request. A model whose window is smaller than this gets those
# that work needs most, unless somebody has chosen its tools.
SMALL_WINDOW = 10_000  # tokens
ESSENTIAL = (
    *("add_comment", "ask_person", "bash", "edit_file", "list_directory", "propose_plan"),
    *("read_file", "read_task", "update_plan", "update_task", "write_file"),
)
# A helper reports to the conversation that started it, which alone speaks with people. Nothing of it runs on.
NOT_FOR_HELPERS = (
    *(DELEGATE, ASK_TOOL, PLAN_TOOL, STEP_TOOL),
    *("background_run", "check_background", "stop_background", Remember.name),
)

OF_REPOSITORIES = repositories.NAMES | {CreatePullRequest.name}


def make_toolbox(
    access: ProjectAccess | None = None,
    library: SkillLibrary | None = None,
    *,
    memory: MemoryAccess | None = None,
    remembers: bool = True,
    chosen: Collection[str] | None = None,
    window: int | None = None,
    read_only: bool = False,
    of_servers: Sequence[AnyTool] = (),
    helpers: int | None = None,
    is_helper: bool = False,
    team: TeamAccess | None = None,
    team_role: str = "",
    linked: RepositoryAccess | None = None,
) -> Toolbox:
    """The toolbox of an agent that reaches its project by ``access``, its memory by ``memory``, and has the skills of
    ``library``.

    Without them it has every tool, to describe only. ``chosen`` are the names of the tools that are
    switched on; None for all, or for the essential ones if the ``window`` of the model, in tokens, is small.
    With ``read_only`` the tools that change something are off. ``of_servers`` are the tools of MCP servers, which are
    switched in the settings of their server. Without
    ``remembers`` that on the memory is off. ``helpers`` is how many helpers one call of ``delegate`` may start; 0
    switches it off. A helper ``is_helper``: it starts none, and asks people nothing but approvals. ``team_role`` is
    lead or teammate, for their tools, which reach the ``team``; empty for everybody else.
    ``linked``: the way to the repositories of the agent; None if it has none, and so no tools for them.

    Name, description and arguments of the tools are the same in every run, so that requests begin with
    the same bytes.
    """
    own = _own_tools(access, library, memory, helpers, team, linked)
    tools = (*own, *installed_tools().tools)
    if chosen is None and window is not None and window < SMALL_WINDOW:
        # guard: toolbox-fits-a-small-window
        chosen = ESSENTIAL
    off = set() if chosen is None else {tool.name for tool in tools}.difference(chosen)
    # guard: memory-tool-is-switched-off
    if not remembers:
        off.add(Remember.name)
    # They are not among those that somebody chooses: the setting for teams, or its flag, has switched them on.
    off = (off | team_tools.NAMES) - team_tools.names_for(team_role)
    # guard: repository-tools-where-one-is-linked
    off = off - OF_REPOSITORIES if linked else off | OF_REPOSITORIES
    # guard: helper-starts-no-helpers
    if is_helper:
        off.update(NOT_FOR_HELPERS)
    if helpers == 0:
        off.add(DELEGATE)
    return Toolbox((*tools, *of_servers), off=off, read_only=read_only)


def _own_tools(
    access: ProjectAccess | None = None,
    library: SkillLibrary | None = None,
    memory: MemoryAccess | None = None,
    helpers: int | None = None,
    team: TeamAccess | None = None,
    linked: RepositoryAccess | None = None,
) -> tuple[AnyTool, ...]:
    """The tools that Paca itself has."""
    return (
        *workspace_tools(),
        *people_tools(),
        Delegate(DEFAULT_HELPERS if helpers is None else helpers),
        *project_tools(access),
        *skill_tools(library),
        Remember(memory),
        *team_tools.team_tools(team),
        *repositories.repository_tools(linked),
        CreatePullRequest(linked),
    )


class _Installed:
    """The custom tools, imported when they are first asked for and once in each process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: InstalledTools | None = None

    def get(self) -> InstalledTools:
        with self._lock:
            if self._loaded is None:
                # An agent gets those of MCP servers only when it has some: two of one name would end its turns.
                # guard: custom-tools-leave-the-names-of-mcp
                taken = {tool.name for tool in _own_tools()} | SHARED_NAMES
                self._loaded = installed.load(taken=taken)
            return self._loaded

    def forget(self) -> None:
        with self._lock:
            self._loaded = None


_installed = _Installed()


def installed_tools() -> InstalledTools:
    """The tools of installed packages, and the problems of those that cannot be used.

    The first call imports the packages, which may take seconds.
    """
    return _installed.get()


def forget_installed_tools() -> None:
    """Import the custom tools again when they are next asked for; tests install packages."""
    _installed.forget()


def tool_names() -> tuple[str, ...]:
    """The names of all tools that an agent can have, in the order of the toolbox."""
    return tuple(spec.name for spec in make_toolbox().specs())
