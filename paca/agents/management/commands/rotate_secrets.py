"""``manage.py rotate_secrets``: stores every secret anew under the first of the ``ENCRYPTION_KEY``s."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from paca.agents.services import rotation
from paca.common.errors import PacaError


class Command(BaseCommand):
    help = (
        "Store every secret under the first key of ENCRYPTION_KEY=new,old. Safe to interrupt, to "
        "repeat and to run beside a working Paca; afterwards the old key can be taken away."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            total = rotation.check()
            self.stdout.write(f"{total} secrets, all readable.")
            for done in rotation.rotate():
                if done % 100 == 0:
                    self.stdout.write(f"{done} stored under the new key.")
            left = rotation.not_current()
        except PacaError as error:
            raise CommandError(error.detail) from error
        if left:
            raise CommandError(f"{left} secrets are not under the new key yet; run this again.")
        self.stdout.write("Every secret is stored under the first key. The others can go.")
