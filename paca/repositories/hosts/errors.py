"""Errors of requests to git servers, in words."""

from paca.common.errors import PacaError


class GitServerFailed(PacaError):
    """The git server answers what it should not."""

    code = "git_server_failed"
    status = 409


class GitServerUnreachable(GitServerFailed):
    """The git server cannot be reached."""

    code = "git_server_unreachable"


class GitServerRefused(GitServerFailed):
    """The git server does not accept the credentials of the connection, or they do not allow this."""

    code = "git_server_refused"


class GitServerLimited(GitServerFailed):
    """The git server answers no more requests for now. Try again later."""

    code = "git_server_limited"


class RepositoryMissing(GitServerFailed):
    """The git server has no such repository, or the credentials do not show it."""

    code = "git_repository_missing"


class NoApi(GitServerFailed):
    """Pull requests need a connection of the kind GitHub or Gitea; this repository has none."""

    code = "git_server_without_api"
