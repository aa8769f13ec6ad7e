"""``manage.py sign_in_link USER``: prints a link that signs the person in once."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from paca.accounts import services
from paca.accounts.management.commands.create_token import get_person
from paca.accounts.services.people import LINK_LIFETIME


class Command(BaseCommand):
    help = "Print a link that signs a person in once, for a person without a password."
    # Only our own: the others import every page.
    requires_system_checks = ("paca",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the person's username")

    def handle(self, *args: Any, **options: Any) -> None:
        secret = services.create_one_time_link(get_person(options["user"]))
        hours = int(LINK_LIFETIME.total_seconds() // 3600)
        address = f"http://{settings.PACA_BIND}:{settings.PACA_PORT}"
        self.stdout.write(
            f"This link works once, within {hours} hours, at this server's address: {address}/link/{secret}/"
        )
