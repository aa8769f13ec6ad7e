"""People, their API tokens, one-time links, stored answers and the audit trail."""

from paca.accounts.models.answer import IdempotentAnswer
from paca.accounts.models.audit import AuditEntry
from paca.accounts.models.link import OneTimeLink
from paca.accounts.models.token import ApiToken
from paca.accounts.models.user import User

__all__ = ["ApiToken", "AuditEntry", "IdempotentAnswer", "OneTimeLink", "User"]
