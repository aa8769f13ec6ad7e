#!/usr/bin/env python3
"""Paca's command line. Old Pythons must still be able to parse this file, to be told that they are."""

import os
import sys

# Their output belongs to the log of a service; that of other commands is read by the person who typed them.
SERVICES = ("up", "run_worker")


def stop(cause, next_step):
    sys.stderr.write("Paca cannot start: %s\nNext step: %s\n" % (cause, next_step))
    sys.exit(1)


def stop_service(cause, next_step):
    """Stop with the same words, in the format of the log."""
    from paca.common import logs

    if not logs.writes_json(os.environ.get("LOG_FORMAT") or "auto"):
        stop(cause, next_step)
    message = "Paca cannot start: %s" % cause
    sys.stderr.write(logs.start_line("error", message, next_step=next_step) + "\n")
    sys.exit(1)


def run_with_packages():
    """The next step for a Python that lacks the packages: those of a clone and of the image have them."""
    from pathlib import Path

    ours = Path(__file__).resolve().parent / ".venv/bin/python"
    for python, name in ((ours, ".venv/bin/python"), (Path("/opt/paca/bin/python"), "python")):
        if python.exists() and Path(sys.executable) != python:
            return "run it with the Python that has them: %s manage.py %s" % (
                name,
                " ".join(sys.argv[1:]),
            )
    return "run `make run`, or: python3 -m pip install --require-hashes -r requirements.txt"


def main():
    if sys.version_info < (3, 11):
        stop(
            "this is Python %d.%d, and it needs 3.11 or newer." % sys.version_info[:2],
            "run `make run`, which looks for a newer one, or: python3.11 manage.py "
            + " ".join(sys.argv[1:]),
        )
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "paca.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        stop("a package is missing (%s)." % error, run_with_packages())
    from paca.common import process_tuning
    from paca.common.errors import ConfigurationError

    process_tuning.collect_rarely()
    try:
        execute_from_command_line(sys.argv)
    except ConfigurationError as error:
        refuse = stop_service if sys.argv[1:2] and sys.argv[1] in SERVICES else stop
        refuse(
            error.detail,
            error.facts.get(
                "next_step",
                "correct it and run this again; docs/configuration.md lists every setting.",
            ),
        )


if __name__ == "__main__":
    main()
