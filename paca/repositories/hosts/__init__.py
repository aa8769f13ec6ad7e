"""Clients of the APIs of git servers."""

from paca.repositories.hosts.base import GitHost, PullRequest, ReviewComment
from paca.repositories.hosts.opening import open_host

__all__ = ["GitHost", "PullRequest", "ReviewComment", "open_host"]
