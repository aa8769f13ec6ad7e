"""The access table: the status that each principal gets for each route. Review it by eye.

A new route needs a row here, or ``test_access_matrix`` fails. To add it:

1. Add a row: ``"METHOD /path/"`` as ``access_routes.path_template`` writes it (the failing test
   prints it), then ten statuses in the order of ``PRINCIPALS``. All requests are for objects of
   project A.
2. If the path has a new parameter, add an object of each project for it in ``two_projects.py``.
3. If the method needs a body, add it to ``bodies``, with ids of the given project. A test also
   sends each body with ids of project B, which must answer 404.
"""

from typing import Any

from tests.security.two_projects import ProjectObjects

# nobody     not signed in
# outsider   a person of the same workspace, in no project
# viewer     and member, manager, owner: their roles in project A
# stranger   the owner of project B, in another workspace
# scoped     project A's owner, with a token limited to agents:read
# revoked    project A's owner, with a revoked token
# root       a superuser who is no member of any project
PRINCIPALS = (
    "nobody",
    "outsider",
    "viewer",
    "member",
    "manager",
    "owner",
    "stranger",
    "scoped",
    "revoked",
    "root",
)

P = "/api/v1/projects/{project}/"
T = f"{P}tasks/{{number}}/"
D = f"{P}docs/{{doc_id}}/"
W = "/api/v1/workspaces/{workspace_id}/"
C = f"{P}conversations/{{conversation_id}}/"

ROWS: dict[str, tuple[int, ...]] = {
    #                                nobody outs view memb mana owne stra scop revo root
    "GET /healthz": (200,) * 10,
    "GET /readyz": (503,) * 10,  # no worker runs beside the tests
    # The door of the MCP server takes tokens only, with any scopes, so people with sessions stay outside.
    # tests/mcp_server/test_access.py has what each tool behind it allows.
    "POST /mcp/":                      (401, 401, 401, 401, 401, 401, 401, 204, 401, 401),
    "GET /metrics": (404,) * 10,  # METRICS_TOKEN is not set; tests/ops/test_metrics.py tests it set
    # -- objects of the person ----------------------------------------------------------------
    "GET /api/v1/tokens/":             (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "POST /api/v1/tokens/":            (401, 201, 201, 201, 201, 201, 201, 403, 401, 201),
    "DELETE /api/v1/tokens/{token_id}/": (401, 404, 404, 404, 404, 204, 404, 403, 401, 404),
    "GET /api/v1/model-keys/":         (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "POST /api/v1/model-keys/":        (401, 201, 201, 201, 201, 201, 201, 403, 401, 201),
    "DELETE /api/v1/model-keys/{own_key_id}/": (401, 404, 404, 404, 404, 204, 404, 403, 401, 404),
    "POST /api/v1/tickets/":           (401, 201, 201, 201, 201, 201, 201, 403, 401, 201),
    "GET /api/v1/workers/":            (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    # -- public on purpose: they show no data ---------------------------
    "GET /api/v1/schema/": (200,) * 10,
    "GET /api/v1/docs/": (200,) * 10,
    "GET /api/v1/events/schema/": (200,) * 10,
    # -- workspaces ------------------------------------------------------------------------
    "GET /api/v1/workspaces/":         (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "GET /api/v1/workspaces/{workspace_id}/": (401, 200, 200, 200, 200, 200, 404, 403, 401, 404),
    "PATCH /api/v1/workspaces/{workspace_id}/": (401, 403, 403, 403, 403, 200, 404, 403, 401, 404),
    f"GET {W}members/":               (401, 200, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {W}members/{{entry_id}}/": (401, 403, 403, 403, 403, 200, 404, 403, 401, 404),
    f"DELETE {W}members/{{entry_id}}/": (401, 403, 403, 403, 403, 204, 404, 403, 401, 404),
    f"GET {W}invitations/":           (401, 403, 403, 403, 403, 200, 404, 403, 401, 404),
    f"POST {W}invitations/":          (401, 403, 403, 403, 403, 201, 404, 403, 401, 404),
    f"DELETE {W}invitations/{{invitation_id}}/":
                                       (401, 403, 403, 403, 403, 204, 404, 403, 401, 404),
    # -- projects --------------------------------------------------------------------------
    "GET /api/v1/projects/":           (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "POST /api/v1/projects/":          (401, 201, 201, 201, 201, 201, 404, 403, 401, 404),
    f"GET {P}":                        (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}":                      (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}":                     (401, 404, 403, 403, 403, 204, 404, 403, 401, 404),
    f"GET {P}members/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}members/":               (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}members/{{member_id}}/":  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}members/{{member_id}}/": (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}members/{{member_id}}/": (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}invitations/":           (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}invitations/":          (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"DELETE {P}invitations/{{invitation_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}roles/":                  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}roles/":                 (401, 404, 403, 403, 403, 201, 404, 403, 401, 404),
    f"GET {P}roles/{{role_id}}/":      (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}roles/{{role_id}}/":    (401, 404, 403, 403, 403, 200, 404, 403, 401, 404),
    f"DELETE {P}roles/{{role_id}}/":   (401, 404, 403, 403, 403, 204, 404, 403, 401, 404),
    # -- tasks: the upload names no file, the status and type are in use, the sprint is planned --
    f"GET {P}tasks/":                  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}tasks/":                 (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"PATCH {P}tasks/bulk/":           (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}tasks/board/":            (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {T}":                        (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {T}":                      (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {T}":                     (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    f"POST {T}restore/":               (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {T}timeline/":               (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}docs/{{doc_id}}/activity/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}docs/{{doc_id}}/timeline/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {T}activity/":               (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {T}attachments/":            (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {T}attachments/":           (401, 404, 403, 400, 400, 400, 404, 403, 401, 404),
    f"GET {T}attachments/{{attachment_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {T}attachments/{{attachment_id}}/":
                                       (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    f"GET {T}attachments/{{attachment_id}}/download/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}statuses/":               (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}statuses/":              (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"PATCH {P}statuses/":             (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"GET {P}statuses/{{status_id}}/": (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}statuses/{{status_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}statuses/{{status_id}}/":
                                       (401, 404, 403, 403, 409, 409, 404, 403, 401, 404),
    f"GET {P}task-types/":             (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}task-types/":            (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"PATCH {P}task-types/":           (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"GET {P}task-types/{{type_id}}/": (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}task-types/{{type_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}task-types/{{type_id}}/":
                                       (401, 404, 403, 403, 409, 409, 404, 403, 401, 404),
    f"GET {P}labels/":                 (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}sprints/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}sprints/":               (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {P}sprints/{{sprint_id}}/":  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}sprints/{{sprint_id}}/":
                                       (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}sprints/{{sprint_id}}/":
                                       (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    f"POST {P}sprints/{{sprint_id}}/start/":
                                       (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}sprints/{{sprint_id}}/complete/":
                                       (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    # -- agents ----------------------------------------------------------------------------
    "GET /api/v1/agents/llm-models/":  (401, 200, 200, 200, 200, 200, 200, 200, 401, 200),
    "GET /api/v1/tools/":              (401, 200, 200, 200, 200, 200, 200, 200, 401, 200),
    "GET /api/v1/agents/skill-templates/": (401, 200, 200, 200, 200, 200, 200, 200, 401, 200),
    "GET /api/v1/agents/presets/":     (401, 200, 200, 200, 200, 200, 200, 200, 401, 200),
    "GET /api/v1/agent-types/":        (401, 200, 200, 200, 200, 200, 200, 200, 401, 200),
    f"GET {P}agents/":                 (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/":                (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}personas/":               (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}personas/":              (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}personas/{{persona_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}personas/{{persona_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}personas/{{persona_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}plugins/":                (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}plugins/":               (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}plugins/{{plugin_id}}/":  (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}plugins/{{plugin_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}plugins/{{plugin_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}plugins/{{plugin_id}}/enable/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}plugins/{{plugin_id}}/disable/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/plugins/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PUT {P}agents/{{agent_id}}/plugins/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}agents/bulk/":           (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/":    (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}agents/{{agent_id}}/":  (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/": (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/test-connection/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/skills/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/skills/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    # Those who may upload are told that the file is missing.
    f"POST {P}agents/{{agent_id}}/skills/upload/":
                                       (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    # Those who may add skills are told that the address is missing; the skill is not from git.
    f"POST {P}agents/{{agent_id}}/skills/git/look/":
                                       (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/skills/git/import/":
                                       (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/skills/{{skill_id}}/check/":
                                       (401, 404, 403, 403, 409, 409, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/skills/{{skill_id}}/update/":
                                       (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/skills/{{skill_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}agents/{{agent_id}}/skills/{{skill_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/skills/{{skill_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/mcp-servers/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/mcp-servers/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/mcp-servers/import/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/mcp-servers/export/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"GET {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/tools/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/tools/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    # It runs in a sandbox, so that nobody can sign in to it.
    f"POST {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/test/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/sign-in/":
                                       (401, 404, 403, 403, 400, 400, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/sign-in/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}git-connections/":         (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}git-connections/":        (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}git-connections/{{connection_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}git-connections/{{connection_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}git-connections/{{connection_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}repositories/":            (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}repositories/":           (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}repositories/{{repository_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}repositories/{{repository_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}repositories/{{repository_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}repositories/{{repository_id}}/test/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}repositories/{{repository_id}}/webhook-secret/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/repositories/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PUT {P}agents/{{agent_id}}/repositories/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"GET {T}branches/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}branches/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    # Git servers send POST with a signature, as tests/repositories/test_webhooks.py does; no sign-in counts.
    "GET /webhooks/git/{repository_id}/": (405,) * 10,
    f"GET {P}memory/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}memory/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}memory/{{memory_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}memory/{{memory_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}memory/{{memory_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}memory/{{memory_id}}/decision/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/memory/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/memory/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/decision/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/check-ins/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/check-ins/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"PATCH {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/run/":
                                       (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/runs/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"GET {P}agents/{{agent_id}}/statistics/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/status/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/status/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/status/planned/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/preview/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    # -- conversations: the chat session belongs to the owner, its conversation is queued -
    f"GET {P}agents/{{agent_id}}/chat-sessions/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/chat-sessions/":
                                       (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/chat-sessions/{{session_id}}/messages/":
                                       (401, 404, 403, 404, 404, 202, 404, 403, 401, 404),
    f"POST {P}agents/{{agent_id}}/chat-sessions/{{session_id}}/clear/":
                                       (401, 404, 403, 404, 404, 201, 404, 403, 401, 404),
    f"GET {P}conversations/":          (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}":                        (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {C}":                      (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {C}":                     (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    f"GET {C}events/":                 (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}export/":                 (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}calls/{{call_id}}/output/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}workspace/":             (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {C}workspace/":           (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    f"POST {C}messages/":              (401, 404, 403, 202, 202, 202, 404, 403, 401, 404),
    f"PATCH {C}messages/{{event_seq}}/":
                                       (401, 404, 403, 403, 403, 202, 404, 403, 401, 404),
    f"DELETE {C}messages/{{event_seq}}/":
                                       (401, 404, 403, 403, 403, 202, 404, 403, 401, 404),
    # Without a query or a workspace.
    f"GET {C}files/":                  (401, 404, 409, 409, 409, 409, 404, 403, 401, 404),
    f"POST {C}files/":                 (401, 404, 403, 400, 400, 400, 404, 403, 401, 404),
    f"GET {C}files/preview/":          (401, 404, 400, 400, 400, 400, 404, 403, 401, 404),
    f"GET {C}files/content/":          (401, 404, 400, 400, 400, 400, 404, 403, 401, 404),
    f"GET {C}files/archive/":          (401, 404, 409, 409, 409, 409, 404, 403, 401, 404),
    f"GET {C}files/changes/":          (401, 404, 409, 409, 409, 409, 404, 403, 401, 404),
    f"GET {C}files/diff/":             (401, 404, 400, 400, 400, 400, 404, 403, 401, 404),
    f"GET {C}network/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}background/":             (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}background/{{call_id}}/stop/":
                                       (401, 404, 403, 202, 202, 202, 404, 403, 401, 404),
    f"POST {C}stop/":                  (401, 404, 403, 202, 202, 202, 404, 403, 401, 404),
    f"POST {C}pause/":                 (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    f"POST {C}resume/":                (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    f"POST {C}continue/":              (401, 404, 403, 202, 202, 202, 404, 403, 401, 404),
    f"POST {C}compact/":               (401, 404, 403, 202, 202, 202, 404, 403, 401, 404),
    f"GET {C}helpers/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}fork/":                  (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    # -- traces: the call of the path is no traced one ------------------------------------------
    f"GET {C}trace/":                 (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}trace/export/":          (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}trace/calls/{{call_id}}/":
                                       (401, 404, 403, 404, 404, 404, 404, 403, 401, 404),
    # -- comments: they are the owner's; a manager may delete them ---------------------------
    f"GET {T}comments/":              (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {T}comments/":             (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {T}comments/{{comment_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {T}comments/{{comment_id}}/":
                                       (401, 404, 403, 403, 403, 200, 404, 403, 401, 404),
    f"DELETE {T}comments/{{comment_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {D}comments/":              (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {D}comments/":             (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {D}comments/{{doc_comment_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {D}comments/{{doc_comment_id}}/":
                                       (401, 404, 403, 403, 403, 200, 404, 403, 401, 404),
    f"DELETE {D}comments/{{doc_comment_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    # -- docs ------------------------------------------------------------------------------
    f"GET {P}docs/":                  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}docs/":                 (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {D}":                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {D}":                     (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {D}":                    (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    f"POST {D}restore/":              (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {D}activity/":              (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {D}versions/":              (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {D}versions/{{version}}/":  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {D}versions/{{version}}/restore/":
                                       (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}doc-folders/":           (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {P}doc-folders/":          (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {P}doc-folders/{{folder_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"PATCH {P}doc-folders/{{folder_id}}/":
                                       (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"DELETE {P}doc-folders/{{folder_id}}/":
                                       (401, 404, 403, 204, 204, 204, 404, 403, 401, 404),
    # -- search and notifications: the notification is the owner's -------------------------
    f"GET {P}search/":                (401, 404, 400, 400, 400, 400, 404, 403, 401, 404),
    "GET /api/v1/notifications/":      (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "POST /api/v1/notifications/read/":
                                       (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "POST /api/v1/notifications/{notification_id}/read/":
                                       (401, 404, 404, 404, 404, 200, 404, 403, 401, 404),
    # -- every other path of the API ------------------------------------------------------
    "GET /api/": (404,) * 10,
    "GET /api/{rest}": (404,) * 10,
    # -- pages: they accept a session only, so a token is not signed in -----------------------------------
    "GET /":                           (302, 200, 302, 302, 302, 302, 302, 302, 302, 200),
    "GET /link/{secret}/": (404,) * 10,
    "GET /join/{secret}/": (404,) * 10,
    # Without a state that the session knows nobody ends a sign-in.
    "GET /mcp/sign-in/":               (302, 409, 409, 409, 409, 409, 409, 302, 302, 409),
    "GET /styleguide/":                (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "GET /projects/":                  (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "GET /tokens/":                    (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "GET /workspaces/{workspace_id}/": (302, 200, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/":        (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/inbox/":  (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/board/":  (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/tasks/{number}/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/docs/":   (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/docs/{doc_id}/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/repositories/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/memory/": (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/agents/{agent_id}/memory/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/settings/": (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/team/":   (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/usage/":  (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    # -- usage and cost; test_usage.py tests which projects and days it shows ------------------
    "GET /api/v1/usage/":              (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    "GET /api/v1/usage.csv":           (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    f"GET {P}usage/":                  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}budgets/":                (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {P}usage.csv":               (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    "GET /projects/{project}/agents/new/":
                                       (302, 404, 403, 403, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/agents/{agent_id}/settings/":
                                       (302, 404, 403, 403, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/agents/": (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/agents/{agent_id}/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/conversations/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/conversations/{conversation_id}/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    "GET /projects/{project}/conversations/{conversation_id}/network/":
                                       (302, 404, 200, 200, 200, 200, 404, 302, 302, 404),
    # -- approvals: a call of the conversation waits; nobody has approved the rest ------------
    "GET /api/v1/approvals/":          (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    f"GET {C}approvals/":              (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"GET {C}approvals/{{call_id}}/":  (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}approvals/{{call_id}}/": (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}approvals/revoke/":      (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    # -- questions and plans: their time has run out ---------------------------------------------
    "GET /api/v1/requests/":           (401, 200, 200, 200, 200, 200, 200, 403, 401, 200),
    f"GET {C}questions/{{question_id}}/":
                                       (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}questions/{{question_id}}/":
                                       (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    f"GET {C}plans/{{plan_id}}/":      (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {C}plans/{{plan_id}}/":     (401, 404, 403, 409, 409, 409, 404, 403, 401, 404),
    # -- instructions to agents; the task has an open suggestion -----------------------------
    f"POST {P}agents/{{agent_id}}/execute/":
                                       (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"POST {T}write-with-ai/":         (401, 404, 403, 201, 201, 201, 404, 403, 401, 404),
    f"GET {T}suggestion/":             (401, 404, 200, 200, 200, 200, 404, 403, 401, 404),
    f"POST {T}suggestion/keep/":       (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    f"POST {T}suggestion/discard/":    (401, 404, 403, 200, 200, 200, 404, 403, 401, 404),
    # -- keys that the project lends to its agents -------------------------------------------
    f"GET {P}model-keys/":             (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    f"POST {P}model-keys/":            (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"DELETE {P}model-keys/{{key_id}}/": (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    # -- environment variables of commands -----------------------------------------------------
    f"GET {P}variables/":              (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}variables/":             (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"DELETE {P}variables/{{project_variable_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    f"GET {P}agents/{{agent_id}}/variables/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/variables/":
                                       (401, 404, 403, 403, 201, 201, 404, 403, 401, 404),
    f"DELETE {P}agents/{{agent_id}}/variables/{{agent_variable_id}}/":
                                       (401, 404, 403, 403, 204, 204, 404, 403, 401, 404),
    # -- the setup of sandboxes ----------------------------------------------------------------
    f"GET {P}agents/{{agent_id}}/setup/":
                                       (401, 404, 200, 200, 200, 200, 404, 200, 401, 404),
    f"POST {P}agents/{{agent_id}}/setup/rebuild/":
                                       (401, 404, 403, 403, 200, 200, 404, 403, 401, 404),
    # -- signing in ----------------------------------------------------------------------------
    "GET /accounts/login/":            (200, 302, 302, 302, 302, 302, 302, 200, 200, 302),
    "POST /accounts/login/":           (200, 302, 302, 302, 302, 302, 302, 200, 200, 302),
    "GET /accounts/logout/":           (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "POST /accounts/logout/": (302,) * 10,
    "GET /accounts/inactive/": (200,) * 10,
    "GET /accounts/password/change/":  (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "POST /accounts/password/change/": (302, 200, 200, 200, 200, 200, 200, 302, 302, 200),
    "GET /accounts/password/set/": (302,) * 10,
    "POST /accounts/password/set/": (302,) * 10,
}  # fmt: skip


def bodies(target: ProjectObjects) -> dict[str, Any]:
    """The bodies of the routes that need one, with ids of the project's objects."""
    role = str(target.ids["role_id"])
    return {
        "POST /api/v1/tokens/": {"name": "script"},
        "POST /api/v1/model-keys/": {"provider": "openai", "key": "sk-of-a-person-1"},
        f"POST {P}model-keys/": {"provider": "openai", "key": "sk-of-a-project-1"},
        f"POST {P}variables/": {"name": "STAGE", "value": "of the project"},
        f"POST {P}agents/{{agent_id}}/variables/": {"name": "STAGE", "value": "of the agent"},
        "PATCH /api/v1/workspaces/{workspace_id}/": {"name": "Renamed"},
        f"PATCH {W}members/{{entry_id}}/": {"role": "member"},
        f"POST {W}invitations/": {"days": 3},
        f"POST {P}invitations/": {"role_id": role},
        "POST /api/v1/projects/": {"name": "New", "workspace_id": str(target.ids["workspace_id"])},
        f"PATCH {P}": {"name": "Renamed"},
        f"POST {P}members/": {"username": "outsider", "role_id": role},
        f"PATCH {P}members/{{member_id}}/": {"role_id": role},
        f"POST {P}roles/": {"name": "Reader", "permissions": ["agents:read"]},
        f"PATCH {P}roles/{{role_id}}/": {"name": "Renamed"},
        f"POST {P}tasks/": {
            "title": "Paint",
            "status_id": str(target.ids["status_id"]),
            "type_id": str(target.ids["type_id"]),
            "sprint_id": str(target.ids["sprint_id"]),
            "assignee_ids": [str(target.ids["member_id"])],
        },
        f"PATCH {T}": {"sprint_id": str(target.ids["sprint_id"])},
        f"PATCH {P}tasks/bulk/": {
            "numbers": [target.ids["number"]],
            "changes": {"status_id": str(target.ids["status_id"])},
        },
        f"POST {C}approvals/{{call_id}}/": {"decision": "approve", "reason": "fine"},
        f"POST {C}questions/{{question_id}}/": {"text": "the first"},
        f"POST {C}plans/{{plan_id}}/": {"decision": "approve", "feedback": "fine"},
        f"POST {P}statuses/": {"name": "Blocked", "category": "todo"},
        f"PATCH {P}statuses/": {"ids": [str(target.ids["status_id"])]},
        f"PATCH {P}statuses/{{status_id}}/": {"name": "Blocked"},
        f"POST {P}task-types/": {"name": "Chore"},
        f"PATCH {P}task-types/": {"ids": [str(target.ids["type_id"])]},
        f"PATCH {P}task-types/{{type_id}}/": {"name": "Chore"},
        f"POST {P}sprints/": {"name": "July"},
        f"PATCH {P}sprints/{{sprint_id}}/": {"name": "July"},
        f"POST {P}sprints/{{sprint_id}}/complete/": {},
        f"POST {P}agents/": {
            "name": "Bo",
            "handle": "bo",
            "model": "demo/guide",
            "role_id": role,
        },
        f"POST {P}personas/": {"template": "plain-writer"},
        f"PATCH {P}personas/{{persona_id}}/": {"name": "Another"},
        f"POST {P}plugins/": {"name": "A plugin"},
        f"PATCH {P}plugins/{{plugin_id}}/": {"name": "Another"},
        f"PUT {P}agents/{{agent_id}}/plugins/": {"plugins": []},
        f"POST {P}agents/bulk/": {
            "defaults": {"model": "demo/guide", "role_id": role},
            "agents": [{"name": "Bo", "handle": "bo"}],
        },
        f"PATCH {P}agents/{{agent_id}}/": {"role_id": role},
        f"POST {P}agents/{{agent_id}}/skills/": {"template": "developer"},
        f"PATCH {P}agents/{{agent_id}}/skills/{{skill_id}}/": {"enabled": False},
        f"POST {P}agents/{{agent_id}}/mcp-servers/": {
            "name": "git",
            "transport": "stdio",
            "command": "git-mcp",
        },
        f"POST {P}agents/{{agent_id}}/mcp-servers/import/": {
            "mcpServers": {"git": {"command": "git-mcp"}}
        },
        f"PATCH {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/": {"enabled": False},
        f"POST {P}agents/{{agent_id}}/mcp-servers/{{server_id}}/tools/": {
            "tools": [{"name": "log", "enabled": False}]
        },
        f"POST {P}git-connections/": {
            "name": "Server",
            "kind": "git",
            "base_url": "https://git.example.org",
        },
        f"PATCH {P}git-connections/{{connection_id}}/": {"name": "Another"},
        f"POST {P}repositories/": {
            "url": "https://git.example.org/team/other.git",
            "connection_id": str(target.ids["connection_id"]),
        },
        f"PATCH {P}repositories/{{repository_id}}/": {
            "connection_id": str(target.ids["connection_id"])
        },
        f"PUT {P}agents/{{agent_id}}/repositories/": {
            "access": "chosen",
            "chosen": [str(target.ids["repository_id"])],
        },
        f"POST {P}agents/{{agent_id}}/check-ins/": {
            "name": "Board",
            "prompt": "Look.",
            "every_minutes": 60,
            "report_to": {"doc": str(target.ids["doc_id"])},
        },
        f"PATCH {P}agents/{{agent_id}}/check-ins/{{check_in_id}}/": {
            "report_to": {"task": target.ids["number"]}
        },
        f"POST {P}agents/{{agent_id}}/status/": {"status": "paused", "confirm": True},
        f"POST {P}memory/": {"text": "Another fact."},
        f"POST {P}agents/{{agent_id}}/memory/": {"text": "Another fact."},
        f"PATCH {P}memory/{{memory_id}}/": {"text": "Changed."},
        f"PATCH {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/": {"text": "Changed."},
        f"POST {P}memory/{{memory_id}}/decision/": {"decision": "accept"},
        f"POST {P}agents/{{agent_id}}/memory/{{agent_memory_id}}/decision/": {"decision": "accept"},
        f"POST {P}agents/{{agent_id}}/chat-sessions/": {"message": "Hello"},
        f"POST {P}agents/{{agent_id}}/chat-sessions/{{session_id}}/messages/": {"text": "Hello"},
        f"POST {T}comments/": {"text": "Hello @rosa"},
        f"PATCH {T}comments/{{comment_id}}/": {"text": "Hello again"},
        f"POST {D}comments/": {"text": "Hello"},
        f"PATCH {D}comments/{{doc_comment_id}}/": {"text": "Hello again"},
        f"POST {P}docs/": {"title": "Guide", "folder": str(target.ids["folder_id"])},
        f"PATCH {D}": {"text": "More", "folder": str(target.ids["folder_id"])},
        f"POST {P}doc-folders/": {"name": "More", "parent": str(target.ids["folder_id"])},
        f"PATCH {P}doc-folders/{{folder_id}}/": {"name": "Renamed"},
        f"PATCH {C}": {"title": "Renamed"},
        f"POST {P}agents/{{agent_id}}/execute/": {"instruction": "Look at the build."},
        f"POST {T}write-with-ai/": {"agent_id": str(target.ids["agent_id"])},
        f"POST {C}messages/": {"text": "Hello"},
        f"POST {C}fork/": {"seq": 1},
        f"PATCH {C}messages/{{event_seq}}/": {"text": "Hello again"},
    }
