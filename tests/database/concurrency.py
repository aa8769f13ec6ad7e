"""Runs things in threads at the same time, each with a database connection of its own."""

import threading
from collections.abc import Callable, Iterable

from django.db import connection

Work = Callable[[], object]


def run_at_once(works: Iterable[Work], seconds: float = 90) -> None:
    """Begin all together, wait for all, and raise what any of them raised."""
    waiting = list(works)
    together = threading.Barrier(len(waiting))
    raised: list[Exception] = []

    def run(work: Work) -> None:
        try:
            together.wait(seconds)
            work()
        except Exception as error:  # noqa: BLE001 - raised below
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in waiting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "one of them hangs"
    if raised:
        raise ExceptionGroup("at once", raised)
