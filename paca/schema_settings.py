"""How the schema of the REST API is made, which ``settings.py`` takes over."""

__all__ = ["SPECTACULAR_SETTINGS"]

SPECTACULAR_SETTINGS = {
    "TITLE": "Paca",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "paca.accounts.api.schema.add_error_responses",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ActivityKind": "paca.projects.models.ActivityKind",
        "AgentCategory": "paca.agents.models.AgentCategory",
        "AgentPriority": "paca.agents.agent_lists.PRIORITY_NAMES",
        "AgentStatus": "paca.agents.models.AgentStatus",
        "CategoryEnum": "paca.projects.models.StatusCategory",
        "ConversationStatus": "paca.conversations.models.ConversationStatus",
        "GitAuth": "paca.repositories.models.GitAuth",
        "GitServerKind": "paca.repositories.models.GitServerKind",
        "AuthEnum": "paca.agents.models.McpAuth",
        "MemberKind": "paca.projects.models.Member.Kind",
        "PersonRequestKind": "paca.conversations.models.RequestKind",
        "PersonRequestState": "paca.conversations.models.RequestState",
        "PriorityEnum": "paca.projects.api.task_serializers.PRIORITIES",
        "SprintStatus": "paca.projects.models.SprintStatus",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
