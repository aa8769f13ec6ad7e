"""Django's development server, on daphne if it is installed: ``manage.py runserver``."""

from typing import Any

try:
    from daphne.management.commands.runserver import Command as ServerCommand

    SERVES_SOCKETS = True
except ImportError:
    from django.contrib.staticfiles.management.commands.runserver import Command as ServerCommand

    SERVES_SOCKETS = False

WITHOUT_DAPHNE = (
    "daphne is not installed, so this server has no sockets and pages show nothing live.\n"
    "Next step: python3 -m pip install --require-hashes -r requirements-daphne.txt"
)


class Command(ServerCommand):  # type: ignore[misc] # one of two classes
    """Replaces the command of the ``daphne`` app, which would load Twisted into every process of ours."""

    def inner_run(self, *args: Any, **options: Any) -> None:
        """Start the server, with a warning if it cannot serve sockets."""
        if not SERVES_SOCKETS:
            self.stderr.write(self.style.WARNING(WITHOUT_DAPHNE))
        super().inner_run(*args, **options)
