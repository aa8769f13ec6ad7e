"""The list of the tools on a project."""

from paca.engine.tools.base import AnyTool
from paca.projects.tools.attachments import SaveAttachment
from paca.projects.tools.base import ProjectAccess
from paca.projects.tools.comments import AddComment
from paca.projects.tools.doc_writes import CreateDoc, UpdateDoc
from paca.projects.tools.docs import ListDocs, ReadDoc
from paca.projects.tools.project import ReadProject
from paca.projects.tools.search import SearchProject
from paca.projects.tools.task_writes import CreateTask, UpdateTask
from paca.projects.tools.tasks import ListTasks, ReadTask

TOOLS = (
    AddComment,
    CreateDoc,
    CreateTask,
    ListDocs,
    ListTasks,
    ReadDoc,
    ReadProject,
    ReadTask,
    SaveAttachment,
    SearchProject,
    UpdateDoc,
    UpdateTask,
)


def project_tools(access: ProjectAccess | None = None) -> tuple[AnyTool, ...]:
    """New instances of the tools on a project; without ``access`` they can be described only."""
    return tuple(tool(access) for tool in TOOLS)
