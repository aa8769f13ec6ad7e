"""Services that add, change and delete connections to git servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError, RestrictedError

from paca.accounts import audit
from paca.agents import encryption
from paca.agents.mcp_secrets import UNCHANGED
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.common.secret_removal import TOO_SHORT, is_long_enough
from paca.common.text import is_storable
from paca.projects.models import Project
from paca.projects.signals import project_changed
from paca.repositories.hosts.addresses import may_be_plain
from paca.repositories.models import GitAuth, GitConnection
from paca.repositories.models.addresses import is_below
from paca.repositories.models.connection import has_api_address
from paca.repositories.signing import check_private_key

MAX_CONNECTIONS = 20
MAX_SECRET_CHARACTERS = 8000
SETTINGS = frozenset({"name", "kind", "base_url", "auth", "username", "app_id", "installation_id"})
Errors = dict[str, list[str]]


class TooManyConnections(Conflict):
    """This project has as many connections to git servers as it can have. Delete one first."""

    code = "too_many_git_connections"


class ConnectionUsed(Conflict):
    """Repositories use this connection. Give them another one, or unlink them first."""

    code = "git_connection_used"


@transaction.atomic
def create(
    project: Project, *, by: audit.HasActor | None, secret: str = "", **settings: Any
) -> GitConnection:
    """Add a connection. ``settings`` are any of ``SETTINGS``; ``secret`` is the token, password or private key.

    Raises ``Invalid`` with the errors of each field, ``TooManyConnections``, and ``ConfigurationError`` if the secret
    cannot be encrypted with ENCRYPTION_KEY.
    """
    _lock(project)
    connection = GitConnection(project=project)
    _store(connection, settings, secret)
    if project.git_connections.count() >= MAX_CONNECTIONS:
        raise TooManyConnections
    connection.save(force_insert=True)
    audit.record(
        "git_connection.created",
        connection,
        by=by,
        project_id=project.pk,
        kind=connection.kind,
        auth=connection.auth,
    )
    _tell_pages(connection)
    return connection


@transaction.atomic
def change(
    connection: GitConnection,
    *,
    by: audit.HasActor | None,
    secret: str = UNCHANGED,
    **settings: Any,
) -> GitConnection:
    """Change the given settings. A secret of ``***`` stays as it is stored, unless the connection moves to another
    server or signs in another way: then it is typed again.

    Raises ``Invalid`` with the errors of each field, and ``ConfigurationError`` as ``create`` does.
    """
    before = GitConnection.objects.get(pk=connection.pk)
    _store(connection, settings, secret)
    changed = sorted(
        name for name in SETTINGS if getattr(before, name) != getattr(connection, name)
    )
    if before.encrypted_secret != connection.encrypted_secret:
        changed.append("secret")
    if not changed:
        return connection
    connection.account = ""
    connection.save()
    audit.record(
        "git_connection.changed",
        connection,
        by=by,
        project_id=connection.project_id,
        fields=changed,
    )
    _tell_pages(connection)
    return connection


@transaction.atomic
def delete(connection: GitConnection, *, by: audit.HasActor | None) -> None:
    """Delete the connection with its secret. Raises ``ConnectionUsed`` if repositories use it."""
    audit.record("git_connection.deleted", connection, by=by, project_id=connection.project_id)
    _tell_pages(connection)
    try:
        connection.delete()
    except (ProtectedError, RestrictedError):
        raise ConnectionUsed from None


def _lock(project: Project) -> None:
    """One new connection or repository at a time, so that their number is right."""
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)


def _store(connection: GitConnection, settings: Mapping[str, Any], secret: str) -> None:
    """Set all given settings and the secret on the row. Raises ``Invalid`` with the errors of each field."""
    is_new = connection._state.adding
    before = None if is_new else GitConnection.objects.get(pk=connection.pk)
    for name, value in settings.items():
        if name not in SETTINGS:
            raise TypeError(f"a connection has no setting {name!r}")
        setattr(connection, name, value.strip() if isinstance(value, str) else value)
    connection.base_url = connection.base_url.rstrip("/")
    _clear_other_ways(connection)
    errors: Errors = {}
    try:
        # The errors below say better what is missing than the constraints.
        validation.check_fields(connection, exclude=("project",))
    except Invalid as invalid:
        errors |= invalid.fields
    if not {"base_url", "kind"} & set(errors):
        errors |= _errors_of_address(connection)
    if "auth" not in errors:
        errors |= _errors_of_sign_in(connection)
    errors |= _store_secret(before, connection, secret, errors)
    if errors:
        raise Invalid(fields=errors)
    validation.check(connection)


def _clear_other_ways(connection: GitConnection) -> None:
    """Take away what only the former way to sign in has."""
    if connection.auth != GitAuth.BASIC:
        connection.username = ""
    if connection.auth != GitAuth.GITHUB_APP:
        connection.app_id = connection.installation_id = ""


def _errors_of_address(connection: GitConnection) -> Errors:
    # guard: git-servers-by-tls
    if not may_be_plain(connection.base_url):
        return {
            "base_url": ["Write https://. Only servers of PRIVATE_GIT_SERVERS may use http://."]
        }
    if connection._state.adding:
        return {}
    linked = list(connection.repositories.all())
    others = [each.name for each in linked if not is_below(each.url, connection.base_url)]
    # guard: git-connection-stays-with-its-repositories
    if others:
        return {"base_url": [f"{_names(others)}: not on this server. Unlink it first."]}
    unknown = [each.name for each in linked if not has_api_address(each.url, connection)]
    # guard: git-connection-knows-its-repositories
    if unknown:
        server = connection.get_kind_display()
        needed = f"{server} needs addresses such as {connection.base_url}/owner/name."
        return {"kind": [f"{_names(unknown)}: {needed} Change or unlink it first."]}
    return {}


def _names(names: list[str]) -> str:
    return ", ".join(sorted(names)[:5])


def _errors_of_sign_in(connection: GitConnection) -> Errors:
    errors: Errors = {}
    if connection.auth == GitAuth.BASIC:
        name = connection.username
        if not name or ":" in name or not (name.isascii() and name.isprintable()):
            errors["username"] = ["Write the name of the account, without a colon."]
    if connection.auth == GitAuth.GITHUB_APP:
        if connection.kind != "github":
            errors["auth"] = ["Only GitHub has GitHub apps."]
        for field in ("app_id", "installation_id"):
            value = getattr(connection, field)
            plain = value.isascii() and (
                value.isdigit() if field == "installation_id" else value.isalnum()
            )
            if not plain:
                errors[field] = ["Write the number that GitHub shows on the page of the app."]
    return errors


def _store_secret(
    before: GitConnection | None, connection: GitConnection, secret: str, errors: Errors
) -> Errors:
    """Encrypt the given secret; gives its errors."""
    if connection.auth == GitAuth.NONE:
        connection.encrypted_secret = ""
        return (
            {"secret": ["A connection without credentials has no secret."]}
            if secret not in ("", UNCHANGED)
            else {}
        )
    if secret == UNCHANGED and before is not None:
        # Another path of a host may be another server, so the address may become narrower only.
        same_place = "base_url" not in errors and is_below(
            f"{connection.base_url}/", before.base_url
        )
        # guard: git-secret-stays-with-its-server
        if not before.encrypted_secret or not same_place or before.auth != connection.auth:
            return {
                "secret": [
                    "Type it again: the stored one was given for another server or another way to sign in."
                ]
            }
        return {}
    if secret in ("", UNCHANGED):
        return {"secret": ["Write the token, the password or the private key."]}
    if found := _errors_of_secret(connection, secret):
        return {"secret": found}
    connection.encrypted_secret = encryption.encrypt(secret.strip())
    return {}


def _errors_of_secret(connection: GitConnection, secret: str) -> list[str]:
    if len(secret) > MAX_SECRET_CHARACTERS or not is_storable(secret):
        return [f"A secret is a text of at most {MAX_SECRET_CHARACTERS} characters."]
    if connection.auth == GitAuth.GITHUB_APP:
        try:
            check_private_key(secret.strip())
        except Invalid as invalid:
            return invalid.fields["secret"]
        return []
    plain = secret.strip()
    if not (plain.isascii() and plain.isprintable()):
        return ["A secret has printable plain characters only, in one line."]
    return [] if is_long_enough(plain) else [TOO_SHORT]


def _tell_pages(connection: GitConnection) -> None:
    project_changed.send(
        sender=GitConnection,
        project_id=connection.project_id,
        noun="repository",
        id=connection.pk,
    )
