"""``manage.py create_token USER``: makes an API token and prints it as the last word."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from paca.accounts import permission_patterns
from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.common.errors import Invalid


class Command(BaseCommand):
    help = "Make an API token for a person. It is shown once and stored only as a hash."
    # Only our own: the others import every page.
    requires_system_checks = ("paca",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", help="the person's username")
        parser.add_argument("--name", default="command line", help="what the token is for")
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            help=f"a permission that the token is limited to; may be repeated: {', '.join(permission_patterns.PERMISSIONS)}",
        )
        parser.add_argument(
            "--days", type=int, help="days until the token expires; without: until it is revoked"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"]
        if days is not None and not 1 <= days <= tokens.MAX_LIFETIME_DAYS:
            raise CommandError(f"--days must be between 1 and {tokens.MAX_LIFETIME_DAYS}.")
        try:
            _, secret = tokens.create(
                get_person(options["user"]),
                name=options["name"],
                scopes=options["scope"],
                lifetime=timedelta(days=days) if days else None,
                by=None,
            )
        except Invalid as invalid:
            raise CommandError(" ".join(sum(invalid.fields.values(), []))) from invalid
        self.stdout.write(f"Store this token now; it is not shown again: {secret}")


def get_person(username: str) -> User:
    """The active person of this name. Raises ``CommandError`` if there is none."""
    try:
        return User.objects.get(username__iexact=username, is_active=True)
    except User.DoesNotExist:
        names = ", ".join(
            User.objects.filter(is_active=True).values_list("username", flat=True)[:10]
        )
        hint = f"There are: {names}." if names else "There is nobody yet; run: python manage.py up"
        raise CommandError(f"There is no person {username!r}. {hint}") from None
