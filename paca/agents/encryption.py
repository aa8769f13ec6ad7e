"""The only encryption: what is secret is stored under the first of the ``ENCRYPTION_KEY`` list."""

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from paca.common.errors import ConfigurationError, PacaError


class SecretUnreadable(PacaError):
    """A stored secret cannot be read with ENCRYPTION_KEY: add the key it was stored under."""

    code = "secret_unreadable"
    status = 500


def encrypt(plain: str) -> str:
    """The stored form of a secret."""
    return _fernets()[0].encrypt(plain.encode()).decode()


def decrypt(stored: str) -> str:
    """The secret itself, whichever of the keys it is stored under."""
    try:
        return MultiFernet(_fernets()).decrypt(stored.encode()).decode()
    except InvalidToken:
        raise SecretUnreadable from None


def is_current(stored: str) -> bool:
    """Whether it is stored under the first key."""
    try:
        _fernets()[0].decrypt(stored.encode())
    except InvalidToken:
        return False
    return True


def check_keys() -> None:
    """Raise ``ConfigurationError`` when there is no key or one is malformed."""
    _fernets()


def _fernets() -> tuple[Fernet, ...]:
    return _built(tuple(settings.ENCRYPTION_KEY))


@lru_cache(maxsize=4)
def _built(keys: tuple[str, ...]) -> tuple[Fernet, ...]:
    if not keys:
        raise ConfigurationError("ENCRYPTION_KEY is empty; nothing secret can be stored or read.")
    try:
        return tuple(Fernet(key) for key in keys)
    except ValueError:
        raise ConfigurationError(
            "ENCRYPTION_KEY holds something that is no key; make one with: python -c "
            '"from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
        ) from None
