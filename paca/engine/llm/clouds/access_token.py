"""Exchanges a key of Google Cloud or IBM Cloud for an access token, at the address that the key names."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from typing import Any
from urllib.parse import urlencode

from paca.common import clock
from paca.engine.llm.call_recording import unrecorded
from paca.engine.llm.credentials import Credentials
from paca.engine.llm.http_request import HttpRequest, Sender, read_at_most
from paca.engine.llm.model_errors import KeyRefused, ModelMisconfigured, StreamBroken
from paca.engine.llm.response_body import AttemptBudget

MAX_REMEMBERED = 200
MARGIN_SECONDS = 120.0  # a token is not used shortly before its end
MAX_ANSWER_BYTES = 64 * 1024
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GOOGLE_SECONDS = 3600
FORM = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
_known: dict[str, tuple[str, float]] = {}


async def of_google(credentials: Credentials, sender: Sender) -> str:
    """The token for a service account, from the ``token_uri`` of its key.

    Raises ``ModelMisconfigured`` for a private key that cannot be read, and the ``ModelError`` of the exchange.
    """
    email, private, address = credentials.need(
        "client_email", "private_key", "token_uri", example="the service account's JSON key file"
    )
    assertion = _signed(email, private, address)
    grant = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": assertion}
    return await _exchanged(address, grant, f"{email} {private}", sender)


async def of_ibm(api_key: str, address: str, sender: Sender) -> str:
    """The token for an API key of IBM Cloud. Raises the ``ModelError`` of the exchange."""
    grant = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": api_key}
    return await _exchanged(address, grant, api_key, sender)


async def _exchanged(address: str, grant: dict[str, str], secret: str, sender: Sender) -> str:
    key = hashlib.sha256(f"{address} {secret}".encode()).hexdigest()
    token, until = _known.get(key, ("", 0.0))
    if token and clock.monotonic() < until:
        return token
    budget = AttemptBudget(sender.limits)
    sent = HttpRequest(address, FORM, urlencode(grant).encode())
    with unrecorded():
        response = await sender.send(sent, budget)
    try:
        async with asyncio.timeout(budget.seconds_left()):
            answer = json.loads(await read_at_most(response, MAX_ANSWER_BYTES))
        token, seconds = str(answer["access_token"]), float(answer.get("expires_in", 0))
    except TimeoutError:
        raise budget.timeout_error(address) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StreamBroken(f"{address} answered without an access token.") from None
    finally:
        await response.aclose()
    if not token:
        raise KeyRefused(f"{address} answered with an empty access token.")
    if len(_known) >= MAX_REMEMBERED:
        _known.pop(next(iter(_known)))
    _known[key] = (token, clock.monotonic() + seconds - MARGIN_SECONDS)
    return token


def _signed(email: str, private: str, audience: str) -> str:
    """A JSON Web Token that the service account signs."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    try:
        key = serialization.load_pem_private_key(private.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ModelMisconfigured("The private_key of the service account is no RSA key.")
    now = int(time.time())
    claims = {"iss": email, "scope": GOOGLE_SCOPE, "aud": audience, "iat": now, "exp": now + GOOGLE_SECONDS}  # fmt: skip
    body = f"{_encoded({'alg': 'RS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    signature = key.sign(body.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{body}.{_base64(signature)}"


def _encoded(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
