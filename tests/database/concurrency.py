"""Runs functions in threads at the same time, each with its own database connection."""

import threading
from collections.abc import Callable, Iterable

from django.db import connection

Work = Callable[[], object]
# Who waits for SQLite's lock looks for it now and then, in no order: among eight that write without a pause, one may lose
# for longer than the ten seconds of the product.
SQLITE_WAITS_MS = 60_000


def run_concurrently(functions: Iterable[Work], seconds: float = 90) -> None:
    """Start all functions together and wait for them.

    Raises ``ExceptionGroup`` with the exceptions of the functions.
    """
    all_functions = list(functions)
    together = threading.Barrier(len(all_functions))
    raised: list[Exception] = []

    def run(work: Work) -> None:
        try:
            if connection.vendor == "sqlite":
                connection.cursor().execute(f"PRAGMA busy_timeout={SQLITE_WAITS_MS}")
            together.wait(seconds)
            work()
        except Exception as error:  # noqa: BLE001 - raised below
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in all_functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "a thread hangs"
    if raised:
        raise ExceptionGroup("concurrently", raised)
