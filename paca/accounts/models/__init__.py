"""People, their API tokens, one-time links, stored answers, the audit trail and the installation."""

from paca.accounts.models.audit import AuditEntry
from paca.accounts.models.idempotent_answer import IdempotentAnswer
from paca.accounts.models.installation import Installation
from paca.accounts.models.one_time_link import OneTimeLink
from paca.accounts.models.token import ApiToken
from paca.accounts.models.user import User

__all__ = ["ApiToken", "AuditEntry", "IdempotentAnswer", "Installation", "OneTimeLink", "User"]
