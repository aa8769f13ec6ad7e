"""Web and worker in separate processes: what that needs, and the secrets that they must share."""

import hmac
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError
from django.utils.crypto import salted_hmac

from paca.accounts.models import Installation
from paca.agents import encryption
from paca.common.errors import ConfigurationError
from paca.installation_keys import ENCRYPTION_KEY_FILE, SECRET_KEY_FILE
from paca.ops import database_check

TOGETHER = "or run both in one process, which needs neither: manage.py up"
MAKE = "openssl rand -base64 48; openssl rand -base64 32 | tr '+/' '-_'"
NAMES = {SECRET_KEY_FILE: "SECRET_KEY", ENCRYPTION_KEY_FILE: "ENCRYPTION_KEY"}


def check_services() -> None:
    """Refuse to begin on what only one process can use."""
    if database_check.is_file():
        raise ConfigurationError(
            f"web and worker apart need PostgreSQL, and the database is the file {database_check.name()}, "
            "which one process keeps for itself.",
            next_step=f"set DATABASE_URL=postgres://user:password@host:5432/database for both, {TOGETHER}",
        )
    if not settings.REDIS_URL:
        raise ConfigurationError(
            "web and worker apart tell one another what happens through Redis or Valkey, "
            "and REDIS_URL is not set.",
            next_step=f"set REDIS_URL=redis://host:6379/0 for both, {TOGETHER}",
        )


def check_secrets_are_given() -> None:
    """Refuse a process that would have to make up what all must have alike."""
    missing = [
        NAMES[file]
        for file in (SECRET_KEY_FILE, ENCRYPTION_KEY_FILE)
        if file in settings.PACA_KEYS.unsaved
    ]
    if missing:
        raise ConfigurationError(
            f"web and worker apart must have the same {' and '.join(missing)}, and none is given here.",
            next_step=f"{_share(missing)} Before the first start make them: {MAKE}",
        )


def enter() -> None:
    """Note the installation's secrets in its database: those of the web process count."""
    known, _ = Installation.objects.get_or_create(only=True)
    known.secret_key_sign = _sign()
    if not (known.encryption_sign and encryption.is_current(known.encryption_sign)):
        known.encryption_sign = encryption.encrypt("Paca")
    known.save(update_fields=["secret_key_sign", "encryption_sign"])


def check_may_enter() -> None:
    """Refuse secrets that are not the installation's, unless a person has plainly changed them.

    A person does so in the environment; and the folder of a file database holds all there is.
    Elsewhere a secret from the folder may just be one that this host has made up.
    """
    if database_check.is_file():
        return
    _refuse(file for file in _foreign() if file in settings.PACA_KEYS.from_files)


def check_is_part() -> None:
    """Refuse to work beside processes with other secrets: what they store could not be read."""
    _refuse(_foreign())


def is_entered() -> bool:
    """Whether a web process has noted the installation's secrets: before, nobody knows them."""
    return _known() is not None


def _known() -> Installation | None:
    try:
        return Installation.objects.exclude(secret_key_sign="").first()
    except DatabaseError:  # an older version, whose tables are still to be brought to this one
        return None


def _foreign() -> Iterator[str]:
    """Which of our secrets are not those that the web process was last started with."""
    if (known := _known()) is None:
        return
    if not hmac.compare_digest(known.secret_key_sign, _sign()):
        yield SECRET_KEY_FILE
    try:
        encryption.decrypt(known.encryption_sign)
    except encryption.SecretUnreadable:
        yield ENCRYPTION_KEY_FILE


def _refuse(files: Iterator[str]) -> None:
    names = [NAMES[file] for file in files]
    if names:
        verb = "is not the one" if len(names) == 1 else "are not those"
        raise ConfigurationError(
            f"{' and '.join(names)} {verb} that the web process of this installation runs with.",
            next_step=_share(names),
        )


def _share(names: list[str]) -> str:
    return (
        f"give every process the same {' and '.join(names)}: it stands in the environment of the "
        "web process, or in the files of its data folder."
    )


def _sign() -> str:
    # Never the secret itself, and of no use for anything that is signed with it.
    return salted_hmac("paca.installation", "sign", algorithm="sha256").hexdigest()
