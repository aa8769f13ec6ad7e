"""URLs below ``/api/v1/``: workspaces, projects, members, roles, and what is in a project."""

from django.urls import path

from paca.projects.api import (
    attachments,
    comments,
    docs,
    invitations,
    members,
    notifications,
    projects,
    roles,
    search,
    sprints,
    statuses,
    tasks,
    timelines,
    workspace_people,
    workspaces,
)

P = "projects/<uuid:project>/"
T = f"{P}tasks/<int:number>/"
D = f"{P}docs/<uuid:doc_id>/"
A = f"{T}attachments/<uuid:attachment_id>/"

urlpatterns = [
    path("workspaces/", workspaces.WorkspaceList.as_view(), name="workspaces"),
    path("workspaces/<uuid:workspace_id>/", workspaces.WorkspaceDetail.as_view(), name="workspace"),
    path(
        "workspaces/<uuid:workspace_id>/members/",
        workspace_people.WorkspacePeople.as_view(),
        name="workspace-people",
    ),
    path(
        "workspaces/<uuid:workspace_id>/members/<uuid:entry_id>/",
        workspace_people.WorkspacePerson.as_view(),
        name="workspace-person",
    ),
    path(
        "workspaces/<uuid:workspace_id>/invitations/",
        invitations.WorkspaceInvitationList.as_view(),
        name="workspace-invitations",
    ),
    path(
        "workspaces/<uuid:workspace_id>/invitations/<uuid:invitation_id>/",
        invitations.WorkspaceInvitationDetail.as_view(),
        name="workspace-invitation",
    ),
    path("projects/", projects.ProjectList.as_view(), name="projects"),
    path("projects/<uuid:project>/", projects.ProjectDetail.as_view(), name="project"),
    path("projects/<uuid:project>/members/", members.MemberList.as_view(), name="members"),
    path(
        "projects/<uuid:project>/members/<uuid:member_id>/",
        members.MemberDetail.as_view(),
        name="member",
    ),
    path(
        "projects/<uuid:project>/invitations/",
        invitations.ProjectInvitationList.as_view(),
        name="invitations",
    ),
    path(
        "projects/<uuid:project>/invitations/<uuid:invitation_id>/",
        invitations.ProjectInvitationDetail.as_view(),
        name="invitation",
    ),
    path("projects/<uuid:project>/roles/", roles.RoleList.as_view(), name="roles"),
    path("projects/<uuid:project>/roles/<uuid:role_id>/", roles.RoleDetail.as_view(), name="role"),
    path(f"{P}tasks/", tasks.TaskList.as_view(), name="tasks"),
    path(f"{P}tasks/bulk/", tasks.TaskBulk.as_view(), name="task-bulk"),
    path(f"{P}tasks/board/", tasks.TaskBoard.as_view(), name="task-board"),
    path(T, tasks.TaskDetail.as_view(), name="task"),
    path(f"{T}restore/", tasks.TaskRestore.as_view(), name="task-restore"),
    path(f"{T}activity/", timelines.TaskActivity.as_view(), name="task-activity"),
    path(f"{T}timeline/", timelines.TaskTimeline.as_view(), name="task-timeline"),
    path(f"{T}attachments/", attachments.AttachmentList.as_view(), name="attachments"),
    path(A, attachments.AttachmentDetail.as_view(), name="attachment"),
    path(f"{A}download/", attachments.AttachmentDownload.as_view(), name="attachment-download"),
    path(f"{P}statuses/", statuses.StatusList.as_view(), name="statuses"),
    path(f"{P}statuses/<uuid:status_id>/", statuses.StatusDetail.as_view(), name="status"),
    path(f"{P}task-types/", statuses.TaskTypeList.as_view(), name="task-types"),
    path(f"{P}task-types/<uuid:type_id>/", statuses.TaskTypeDetail.as_view(), name="task-type"),
    path(f"{P}labels/", statuses.LabelList.as_view(), name="labels"),
    path(f"{P}sprints/", sprints.SprintList.as_view(), name="sprints"),
    path(f"{P}sprints/<uuid:sprint_id>/", sprints.SprintDetail.as_view(), name="sprint"),
    path(f"{P}sprints/<uuid:sprint_id>/start/", sprints.SprintStart.as_view(), name="sprint-start"),
    path(
        f"{P}sprints/<uuid:sprint_id>/complete/",
        sprints.SprintComplete.as_view(),
        name="sprint-complete",
    ),
    path(f"{P}search/", search.Search.as_view(), name="search"),
    path(f"{T}comments/", comments.TaskCommentList.as_view(), name="task-comments"),
    path(
        f"{T}comments/<uuid:comment_id>/",
        comments.TaskCommentDetail.as_view(),
        name="task-comment",
    ),
    path(f"{P}docs/", docs.DocList.as_view(), name="docs"),
    path(D, docs.DocDetail.as_view(), name="doc"),
    path(f"{D}activity/", timelines.DocActivity.as_view(), name="doc-activity"),
    path(f"{D}timeline/", timelines.DocTimeline.as_view(), name="doc-timeline"),
    path(f"{D}restore/", docs.DocRestore.as_view(), name="doc-restore"),
    path(f"{D}versions/", docs.DocVersionList.as_view(), name="doc-versions"),
    path(
        f"{D}versions/<int:version>/",
        docs.DocVersionDetail.as_view(),
        name="doc-version",
    ),
    path(
        f"{D}versions/<int:version>/restore/",
        docs.DocVersionRestore.as_view(),
        name="doc-version-restore",
    ),
    path(f"{D}comments/", comments.DocCommentList.as_view(), name="doc-comments"),
    path(
        f"{D}comments/<uuid:doc_comment_id>/",
        comments.DocCommentDetail.as_view(),
        name="doc-comment",
    ),
    path(f"{P}doc-folders/", docs.DocFolderList.as_view(), name="doc-folders"),
    path(f"{P}doc-folders/<uuid:folder_id>/", docs.DocFolderDetail.as_view(), name="doc-folder"),
    path("notifications/", notifications.NotificationList.as_view(), name="notifications"),
    path(
        "notifications/read/",
        notifications.NotificationReadAll.as_view(),
        name="notifications-read",
    ),
    path(
        "notifications/<uuid:notification_id>/read/",
        notifications.NotificationRead.as_view(),
        name="notification-read",
    ),
]
