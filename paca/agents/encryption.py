"""Encrypts the secrets in the database. The first key of ``ENCRYPTION_KEY`` encrypts, all decrypt."""

import json
import os
from collections.abc import Iterator
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from paca.common.errors import ConfigurationError, PacaError
from paca.common.secret_removal import remember, secrets_of_header


class SecretUnreadable(PacaError):
    """A stored secret cannot be read with ENCRYPTION_KEY: add the key that it was encrypted with."""

    code = "secret_unreadable"
    status = 500


def encrypt(plain: str) -> str:
    """Encrypt a secret with the first key.

    Raises ``ConfigurationError`` if ENCRYPTION_KEY is empty or has a malformed key.
    """
    remember(*_values(plain))
    return _fernets()[0].encrypt(plain.encode()).decode()


def sealed(key: str) -> tuple[str, str]:
    """The encrypted key of a model and its last four characters, to be stored; empty for an empty key.

    Raises ``ConfigurationError`` as ``encrypt`` does.
    """
    if not key:
        return "", ""
    # Four characters would reveal too much of a short key, and say nothing of a JSON object.
    return encrypt(key), key[-4:] if len(key) >= 12 and not key.startswith("{") else ""


def decrypt(stored: str) -> str:
    """Decrypt a secret with any of the keys.

    Raises ``SecretUnreadable`` if no key fits, and ``ConfigurationError`` as ``encrypt`` does.
    """
    try:
        plain = MultiFernet(_fernets()).decrypt(stored.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None
    remember(*_values(plain))
    return plain


def _values(plain: str) -> Iterator[str]:
    """The values that no log may show: the secret, or those of a JSON object, but for addresses in it."""
    if not plain.startswith("{"):
        yield plain
        return
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        yield plain
        return
    # guard: values-of-stored-objects-are-secrets
    for value in found.values():
        if isinstance(value, str) and "://" not in value:
            yield from secrets_of_header(value)


def is_current(stored: str) -> bool:
    """Whether a secret is encrypted with the first key. Raises ``ConfigurationError`` as ``encrypt`` does."""
    try:
        _fernets()[0].decrypt(stored.encode())
    except InvalidToken:
        return False
    return True


NONCE_BYTES = 12


def new_data_key() -> str:
    """A new key for data, which is stored encrypted itself: a rotation then leaves the data as they are."""
    return AESGCM.generate_key(256).hex()


def seal(data: bytes, *, data_key: str, label: str) -> bytes:
    """Encrypt data with a data key. They can be opened with the same label only."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(bytes.fromhex(data_key)).encrypt(nonce, data, label.encode())


def open_sealed(sealed: bytes, *, data_key: str, label: str) -> bytes:
    """Decrypt what ``seal`` gave. Raises ``SecretUnreadable`` if key or label are others, or it was changed."""
    nonce, data = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return AESGCM(bytes.fromhex(data_key)).decrypt(nonce, data, label.encode())
    except (InvalidTag, ValueError):
        raise SecretUnreadable from None


def _fernets() -> tuple[Fernet, ...]:
    return _build_fernets(tuple(settings.ENCRYPTION_KEY))


@lru_cache(maxsize=4)
def _build_fernets(keys: tuple[str, ...]) -> tuple[Fernet, ...]:
    if not keys:
        raise ConfigurationError("ENCRYPTION_KEY is empty: no secret can be stored or read.")
    try:
        return tuple(Fernet(key) for key in keys)
    except ValueError:
        raise ConfigurationError(
            "ENCRYPTION_KEY has a malformed key; make a new one with: python -c "
            '"from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
        ) from None
