"""The signature of a GitHub app: RSA with SHA-256."""

from __future__ import annotations

from typing import Any

from paca.common.errors import Invalid

NO_KEY = "This is no private key of a GitHub app. Paste the whole .pem file that GitHub gave."


def rs256(data: bytes, private_key: str) -> bytes:
    """The signature of data. Raises ``Invalid`` if the key is no RSA key in PEM."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    signature: bytes = _read(private_key).sign(data, padding.PKCS1v15(), hashes.SHA256())
    return signature


def check_private_key(private_key: str) -> None:
    """Raises ``Invalid`` if the key is no RSA key in PEM."""
    _read(private_key)


def _read(private_key: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    try:
        key = serialization.load_pem_private_key(private_key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Invalid(fields={"secret": [NO_KEY]}) from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise Invalid(fields={"secret": [NO_KEY]})
    return key
