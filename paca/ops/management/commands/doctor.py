"""The command that looks at an installation: ``manage.py doctor``."""

import dataclasses
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from paca.ops import doctor


class Command(BaseCommand):
    """A line for each part; exit code 1 only when one is broken."""

    help = "Look at every part of this installation and say what to do."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object")

    def handle(self, **options: Any) -> None:
        findings = doctor.examine()
        broken = any(finding.state == "broken" for finding in findings)
        if options["json"]:
            parts = {each.part.lower(): _as_json(each) for each in findings}
            self.stdout.write(json.dumps({"ok": not broken, "parts": parts}, indent=2))
        else:
            for finding in findings:
                self._line(finding)
        if broken:
            raise SystemExit(1)

    def _line(self, finding: doctor.Finding) -> None:
        paint = {"ok": self.style.SUCCESS, "todo": self.style.WARNING, "broken": self.style.ERROR}
        self.stdout.write(
            f"{paint[finding.state](finding.state.ljust(6))}  {finding.part:<11} {finding.meaning}"
        )
        if finding.next_step:
            self.stdout.write(f"{'':<20}Next step: {finding.next_step}")


def _as_json(finding: doctor.Finding) -> dict[str, str]:
    fields = dataclasses.asdict(finding)
    del fields["part"]
    return fields
