"""Addresses below ``/api/v1/`` of conversations, chats and workers."""

from django.urls import include, path

from paca.conversations.api import (
    agent_statistics,
    agent_status,
    approvals,
    background,
    branches,
    budgets,
    chats,
    check_ins,
    conversations,
    event_schema,
    files,
    forks,
    helpers,
    instructions,
    log,
    memory,
    network,
    person_requests,
    preview,
    questions,
    setups,
    traces,
    usage,
    workers,
)

chat_sessions = [
    path("", chats.ChatSessions.as_view(), name="chat-sessions"),
    path("<uuid:session_id>/messages/", chats.ChatMessages.as_view(), name="chat-messages"),
    path("<uuid:session_id>/clear/", chats.ClearChat.as_view(), name="chat-clear"),
]

agent_check_ins = [
    path("", check_ins.CheckInList.as_view(), name="check-ins"),
    path("<uuid:check_in_id>/", check_ins.CheckInDetail.as_view(), name="check-in"),
    path("<uuid:check_in_id>/run/", check_ins.RunCheckIn.as_view(), name="check-in-run"),
    path("<uuid:check_in_id>/runs/", check_ins.CheckInRuns.as_view(), name="check-in-runs"),
]

memories = [
    path("", memory.MemoryList.as_view(), name="memory"),
    path("<uuid:memory_id>/", memory.MemoryDetail.as_view(), name="memory-entry"),
    path("<uuid:memory_id>/decision/", memory.MemoryDecision.as_view(), name="memory-decision"),
]

agent_memories = [
    path("", memory.AgentMemoryList.as_view(), name="agent-memory"),
    path("<uuid:agent_memory_id>/", memory.AgentMemoryDetail.as_view(), name="agent-memory-entry"),
    path(
        "<uuid:agent_memory_id>/decision/",
        memory.AgentMemoryDecision.as_view(),
        name="agent-memory-decision",
    ),
]

conversation = [
    path("", conversations.OneConversation.as_view(), name="conversation"),
    path("events/", log.Events.as_view(), name="conversation-events"),
    path("export/", log.Export.as_view(), name="conversation-export"),
    path("calls/<str:call_id>/output/", log.FullOutput.as_view(), name="conversation-call-output"),
    path("messages/", conversations.Messages.as_view(), name="conversation-messages"),
    path(
        "messages/<int:event_seq>/",
        conversations.QueuedMessage.as_view(),
        name="conversation-message",
    ),
    path("approvals/", approvals.ConversationApprovals.as_view(), name="conversation-approvals"),
    path("approvals/revoke/", approvals.RevokeRest.as_view(), name="conversation-approvals-revoke"),
    path("approvals/<str:call_id>/", approvals.OneApproval.as_view(), name="conversation-approval"),
    path(
        "questions/<str:question_id>/",
        questions.OneQuestion.as_view(),
        name="conversation-question",
    ),
    path("plans/<str:plan_id>/", questions.OnePlan.as_view(), name="conversation-plan"),
    path("workspace/", conversations.ConversationFiles.as_view(), name="conversation-workspace"),
    path(
        "background/",
        background.BackgroundCommands.as_view(),
        name="conversation-background",
    ),
    path(
        "background/<str:call_id>/stop/",
        background.StopBackgroundCommand.as_view(),
        name="conversation-background-stop",
    ),
    path("files/", files.Files.as_view(), name="conversation-files"),
    path("files/preview/", files.FilePreview.as_view(), name="conversation-file-preview"),
    path("files/content/", files.FileContent.as_view(), name="conversation-file-content"),
    path("files/archive/", files.FileArchive.as_view(), name="conversation-files-archive"),
    path("files/changes/", files.FileChanges.as_view(), name="conversation-files-changes"),
    path("files/diff/", files.FileDiff.as_view(), name="conversation-file-diff"),
    path("branches/", branches.ConversationBranches.as_view(), name="conversation-branches"),
    path("network/", network.NetworkUses.as_view(), name="conversation-network"),
    path("stop/", conversations.Stop.as_view(), name="conversation-stop"),
    path("pause/", conversations.Pause.as_view(), name="conversation-pause"),
    path("resume/", conversations.Resume.as_view(), name="conversation-resume"),
    path("continue/", conversations.Continue.as_view(), name="conversation-continue"),
    path("compact/", conversations.Compact.as_view(), name="conversation-compact"),
    path("trace/", traces.Timeline.as_view(), name="conversation-trace"),
    path("trace/export/", traces.TraceExport.as_view(), name="conversation-trace-export"),
    path(
        "trace/calls/<str:call_id>/",
        traces.TracedModelCall.as_view(),
        name="conversation-trace-call",
    ),
    path("helpers/", helpers.Helpers.as_view(), name="conversation-helpers"),
    path("fork/", forks.Forks.as_view(), name="conversation-fork"),
]

task = [
    path("branches/", branches.TaskBranches.as_view(), name="task-branches"),
    path("write-with-ai/", instructions.WriteWithAI.as_view(), name="task-write-with-ai"),
    path("suggestion/", instructions.TaskSuggestion.as_view(), name="task-suggestion"),
    path("suggestion/keep/", instructions.KeepSuggestion.as_view(), name="task-suggestion-keep"),
    path(
        "suggestion/discard/",
        instructions.DiscardSuggestion.as_view(),
        name="task-suggestion-discard",
    ),
]

urlpatterns = [
    path("events/schema/", event_schema.schema, name="event-schema"),
    path("approvals/", approvals.OwnApprovals.as_view(), name="approvals"),
    path("requests/", person_requests.OwnRequests.as_view(), name="requests"),
    path("workers/", workers.Workers.as_view(), name="workers"),
    path("usage/", usage.ProjectsUsage.as_view(), name="usage-of-projects"),
    path("usage.csv", usage.ProjectsUsageFile.as_view(), name="usage-of-projects-csv"),
    path(
        "projects/<uuid:project>/",
        include(
            [
                path("agents/<uuid:agent_id>/chat-sessions/", include(chat_sessions)),
                path("agents/<uuid:agent_id>/check-ins/", include(agent_check_ins)),
                path("memory/", include(memories)),
                path("agents/<uuid:agent_id>/memory/", include(agent_memories)),
                path(
                    "agents/<uuid:agent_id>/statistics/",
                    agent_statistics.AgentStatisticsView.as_view(),
                    name="agent-statistics",
                ),
                path(
                    "agents/<uuid:agent_id>/status/",
                    agent_status.AgentStatusView.as_view(),
                    name="agent-status",
                ),
                path(
                    "agents/<uuid:agent_id>/status/planned/",
                    agent_status.PlannedStatusView.as_view(),
                    name="agent-planned-status",
                ),
                path(
                    "agents/<uuid:agent_id>/preview/",
                    preview.Preview.as_view(),
                    name="agent-preview",
                ),
                path(
                    "agents/<uuid:agent_id>/execute/",
                    instructions.Execute.as_view(),
                    name="agent-execute",
                ),
                path(
                    "agents/<uuid:agent_id>/setup/",
                    setups.AgentSetup.as_view(),
                    name="agent-setup",
                ),
                path(
                    "agents/<uuid:agent_id>/setup/rebuild/",
                    setups.RebuildSetup.as_view(),
                    name="agent-setup-rebuild",
                ),
                path("usage/", usage.ProjectUsage.as_view(), name="usage"),
                path("budgets/", budgets.ProjectBudgets.as_view(), name="budgets"),
                path("usage.csv", usage.ProjectUsageFile.as_view(), name="usage-csv"),
                path("tasks/<int:number>/", include(task)),
                path("conversations/", conversations.Conversations.as_view(), name="conversations"),
                path("conversations/<uuid:conversation_id>/", include(conversation)),
            ]
        ),
    ),
]
