"""What a process that runs for weeks asks of its host when it begins."""

import ctypes
import os

M_ARENA_MAX = -8  # of glibc's malloc.h
ARENAS = 2
WORKER_NICE = 5


def limit_malloc_arenas() -> None:
    """Let all threads take memory from the same few places, before there are any.

    By itself glibc gives each thread its own, and what a thread frees stays there: of a worker's
    twenty threads each keeps the most that it ever needed. Other C libraries know no such call.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)


def lower_priority() -> None:
    """Where cores are scarce, let pages be answered first: people wait for them. Sandboxes begun as
    this process's children give way with it."""
    os.nice(WORKER_NICE)
