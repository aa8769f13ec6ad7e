"""Encrypts the secrets in the database. The first key of ``ENCRYPTION_KEY`` encrypts, all decrypt."""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from paca.common.errors import ConfigurationError, PacaError


class SecretUnreadable(PacaError):
    """A stored secret cannot be read with ENCRYPTION_KEY: add the key that it was encrypted with."""

    code = "secret_unreadable"
    status = 500


def encrypt(plain: str) -> str:
    """Encrypt a secret with the first key.

    Raises ``ConfigurationError`` if ENCRYPTION_KEY is empty or has a malformed key.
    """
    return _fernets()[0].encrypt(plain.encode()).decode()


def decrypt(stored: str) -> str:
    """Decrypt a secret with any of the keys.

    Raises ``SecretUnreadable`` if no key fits, and ``ConfigurationError`` as ``encrypt`` does.
    """
    try:
        return MultiFernet(_fernets()).decrypt(stored.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def is_current(stored: str) -> bool:
    """Whether a secret is encrypted with the first key. Raises ``ConfigurationError`` as ``encrypt`` does."""
    try:
        _fernets()[0].decrypt(stored.encode())
    except InvalidToken:
        return False
    return True


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
