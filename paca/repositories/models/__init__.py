"""The tables of repositories, of connections to git servers, and of which agents use which repositories."""

from paca.repositories.models.agents import AgentRepositories, RepositoryAccess
from paca.repositories.models.connection import GitAuth, GitConnection, GitServerKind
from paca.repositories.models.repository import ContactState, Repository, ReviewPolicy
from paca.repositories.models.webhook import WebhookDelivery

__all__ = [
    "AgentRepositories",
    "ContactState",
    "GitAuth",
    "GitConnection",
    "GitServerKind",
    "Repository",
    "RepositoryAccess",
    "ReviewPolicy",
    "WebhookDelivery",
]
