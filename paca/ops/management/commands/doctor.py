"""The command that checks an installation: ``manage.py doctor``."""

import dataclasses
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from paca.ops import doctor
from paca.ops.check_result import CheckResult


class Command(BaseCommand):
    """Prints a line for each part. The exit code is 1 if a part is broken, else 0."""

    help = "Check every part of this installation and say what to do."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object")
        parser.add_argument(
            "--limits", action="store_true", help="try the limits of a sandbox, for some seconds"
        )

    def handle(self, **options: Any) -> None:
        results = doctor.check_installation(with_limits=options["limits"])
        broken = any(result.state == "broken" for result in results)
        if options["json"]:
            parts = {result.part.lower(): _as_json(result) for result in results}
            self.stdout.write(json.dumps({"ok": not broken, "parts": parts}, indent=2))
        else:
            for result in results:
                self._print_result(result)
        if broken:
            raise SystemExit(1)

    def _print_result(self, result: CheckResult) -> None:
        style = {"ok": self.style.SUCCESS, "todo": self.style.WARNING, "broken": self.style.ERROR}
        self.stdout.write(
            f"{style[result.state](result.state.ljust(6))}  {result.part:<11} {result.meaning}"
        )
        if result.next_step:
            self.stdout.write(f"{'':<20}Next step: {result.next_step}")


def _as_json(result: CheckResult) -> dict[str, str]:
    fields = dataclasses.asdict(result)
    del fields["part"]
    return fields
