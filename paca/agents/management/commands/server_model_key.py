"""``manage.py server_model_key PROVIDER``: stores the server's key of a provider, which it reads from standard input."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from paca.agents.models import ModelKey
from paca.agents.services import model_keys
from paca.common.errors import Invalid, PacaError


class Command(BaseCommand):
    """Stores or deletes a key that all projects may use for agents without a key of their own."""

    help = "Store the server's key of a model provider, read from standard input."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("provider", help="such as anthropic or openai")
        parser.add_argument("--base-url", default="", help="of a server of your own or a gateway")
        parser.add_argument("--delete", action="store_true", help="delete the stored key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Store or delete the key. Raises ``CommandError`` if that is not possible."""
        provider, base_url = options["provider"], options["base_url"]
        if options["delete"]:
            row = ModelKey.objects.of_server().filter(provider=provider, base_url=base_url).first()
            if row is None:
                raise CommandError(f"The server has no key of {provider} for this address.")
            model_keys.delete(row, by=None)
            self.stdout.write(f"Deleted the server's key of {provider}.")
            return
        try:
            key = sys.stdin.readline()
            row = model_keys.store(provider=provider, base_url=base_url, key=key, by=None)
        except Invalid as invalid:
            raise CommandError(
                " ".join(text for texts in invalid.fields.values() for text in texts)
            ) from None
        except PacaError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Stored the server's key of {provider}, which ends in {row.key_last4}.")
