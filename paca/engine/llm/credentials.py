"""Reads an agent's key: a plain key, or a JSON object for services that need more than one value."""

import json
from dataclasses import dataclass, field

from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.provider_errors import without_key

PLAIN = "api_key"
# Values that may be shown in an error. All others are masked.
PUBLIC = frozenset({
    "region", "project_id", "space_id", "location", "api_version", "token_uri", "iam_url", "client_email", "type",
    "client_id", "auth_uri", "universe_domain", "auth_provider_x509_cert_url", "client_x509_cert_url",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Credentials:
    """The values that the agent was given for one service. Nothing else of this server is used."""

    service: str
    values: dict[str, str] = field(repr=False)

    @classmethod
    def parse(cls, service: str, key: str) -> "Credentials":
        """From the agent's key. Raises ``ModelMisconfigured`` if it begins like JSON and is none."""
        if not key.lstrip().startswith("{"):
            return cls(service, {PLAIN: key} if key else {})
        try:
            found = json.loads(key)
        except (ValueError, RecursionError):
            raise ModelMisconfigured(f"The key for {service} is no valid JSON object.") from None
        values = {name: str(value).strip() for name, value in found.items() if value}
        return cls(service, values)

    def get(self, name: str) -> str:
        """A value; empty if it was not given."""
        return self.values.get(name, "")

    def need(self, *names: str, example: str) -> list[str]:
        """These values. Raises ``ModelMisconfigured`` with an example if one is missing."""
        missing = [name for name in names if not self.get(name)]
        if missing:
            raise ModelMisconfigured(
                f"The agent's key for {self.service} lacks {' and '.join(missing)}. Paca takes nothing from the "
                f"environment of this server. Write the key as JSON, such as {example}"
            )
        return [self.get(name) for name in names]

    @property
    def secrets(self) -> list[str]:
        """The values that nobody may see."""
        return [value for name, value in self.values.items() if name not in PUBLIC]

    def mask(self, error: ModelError) -> ModelError:
        """The error without the secret values in its text."""
        for value in self.secrets:
            error = without_key(error, value)
        return error


def secrets_of(key: str) -> list[str]:
    """The secret values of an agent's key, whatever its service; the key itself if it is plain or no JSON."""
    try:
        return Credentials.parse("", key).secrets
    except ModelMisconfigured:
        return [key]
