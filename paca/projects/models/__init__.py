"""The tables of workspaces, projects, members, and of the work in a project: tasks, docs, comments."""

from paca.projects.models.activity import Activity, ActivityKind
from paca.projects.models.attachment import Attachment, AttachmentPart
from paca.projects.models.comment import Comment, CommentVersion, Mention
from paca.projects.models.doc import Doc, DocFolder, DocVersion
from paca.projects.models.environment import SandboxEnvironment
from paca.projects.models.invitation import Invitation
from paca.projects.models.keyed_write import KeyedWrite
from paca.projects.models.member import Member, Role
from paca.projects.models.network import ProjectNetwork
from paca.projects.models.notification import Notification, NotificationKind
from paca.projects.models.project import MemoryPolicy, Project
from paca.projects.models.search_entry import SearchEntry, SearchKind
from paca.projects.models.sprint import Sprint, SprintStatus
from paca.projects.models.task import Priority, Task, TaskAssignee, TaskDependency
from paca.projects.models.task_settings import Label, StatusCategory, TaskStatus, TaskType
from paca.projects.models.workspace import Workspace, WorkspaceMember

__all__ = [
    "Activity",
    "ActivityKind",
    "Attachment",
    "AttachmentPart",
    "Comment",
    "CommentVersion",
    "Doc",
    "DocFolder",
    "DocVersion",
    "Invitation",
    "KeyedWrite",
    "Label",
    "Member",
    "MemoryPolicy",
    "Mention",
    "Notification",
    "NotificationKind",
    "Priority",
    "Project",
    "ProjectNetwork",
    "Role",
    "SearchEntry",
    "SearchKind",
    "SandboxEnvironment",
    "Sprint",
    "SprintStatus",
    "StatusCategory",
    "Task",
    "TaskAssignee",
    "TaskDependency",
    "TaskStatus",
    "TaskType",
    "Workspace",
    "WorkspaceMember",
]
