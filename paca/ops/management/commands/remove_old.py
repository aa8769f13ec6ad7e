"""The command that removes old data in bulk: ``manage.py remove_old``. Without ``--yes`` it only shows it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from paca.conversations import retention
from paca.ops.storage import describe


class Command(BaseCommand):
    """Safe beside running workers, which remove by the keep times of the settings each hour."""

    help = "Show what is older than its keep time, and remove it with --yes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        keep = retention.KeepTimes.from_settings()
        kinds = (
            ("--workspaces", keep.workspaces, "keep time of files of sandboxes"),
            ("--outputs", keep.outputs, "keep time of full outputs"),
            ("--traces", keep.traces, "keep time of traced calls"),
            ("--conversations", keep.conversations, "keep time of conversations"),
        )
        for option, default, meaning in kinds:
            parser.add_argument(option, default=default, help=meaning, type=int, metavar="DAYS")
        parser.add_argument("--yes", action="store_true", help="remove it; else nothing changes")

    def handle(self, **options: Any) -> None:
        keep = retention.KeepTimes(
            max(0, options["workspaces"]),
            max(0, options["outputs"]),
            max(0, options["conversations"]),
            max(0, options["traces"]),
        )
        if not options["yes"]:
            for each in retention.find_old_data(keep):
                self.stdout.write(f"{each.kind}: {describe(each)}")
            self.stdout.write("Nothing was removed. Run it with --yes to remove this.")
            return
        for kind, number in retention.remove_old_data(keep).items():
            self.stdout.write(f"{kind}: removed of {number} conversations")
        self.stdout.write("A worker removes the files themselves within a minute.")
