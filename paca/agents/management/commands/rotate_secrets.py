"""``manage.py rotate_secrets``: encrypts every secret with the first key of ``ENCRYPTION_KEY``."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from paca.agents.services import rotation
from paca.common.errors import PacaError


class Command(BaseCommand):
    help = (
        "Encrypt every secret with the first key of ENCRYPTION_KEY=new,old. Can be interrupted, "
        "repeated, and run while Paca runs. Afterwards the old key can be removed."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            total = rotation.check_readable()
            self.stdout.write(f"{total} secrets, all readable.")
            for done in rotation.rotate():
                if done % 100 == 0:
                    self.stdout.write(f"{done} encrypted with the new key.")
            left = rotation.count_outdated()
        except PacaError as error:
            raise CommandError(error.detail) from error
        if left:
            raise CommandError(
                f"{left} secrets are not encrypted with the new key yet; run this command again."
            )
        self.stdout.write("Every secret is encrypted with the first key. Remove the others.")
