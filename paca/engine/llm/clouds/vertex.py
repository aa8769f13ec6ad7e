"""Addresses and tokens of Vertex AI."""

from __future__ import annotations

import re
from urllib.parse import quote

from paca.engine.llm.clouds import access_token
from paca.engine.llm.credentials import Credentials
from paca.engine.llm.http_request import Sender
from paca.engine.llm.model_errors import ModelMisconfigured

LOCATION = re.compile(r"[a-z]+(-[a-z]+\d+)?")
EXAMPLE = "the service account's JSON key file, with a location such as us-central1 added"


def place_of(credentials: Credentials, base_url: str) -> str:
    """The address of the project at its location. Raises ``ModelMisconfigured`` if one is missing."""
    (project,) = credentials.need("project_id", example=EXAMPLE)
    location = credentials.get("location") or "global"
    # guard: engine-cloud-region
    if not LOCATION.fullmatch(location):
        raise ModelMisconfigured(f"{location[:60]} is no location of Google Cloud.")
    region = "" if location == "global" else f"{location}-"
    origin = base_url.strip().rstrip("/") or f"https://{region}aiplatform.googleapis.com"
    return f"{origin}/v1/projects/{quote(project, safe='')}/locations/{location}"


async def token_of(credentials: Credentials, sender: Sender) -> str:
    """The given access token, or one for the given service account. Raises ``ModelError``."""
    return credentials.get("access_token") or await access_token.of_google(credentials, sender)
