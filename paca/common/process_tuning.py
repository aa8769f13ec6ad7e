"""Tunes a long-running process when it starts: memory of the C library, and scheduling priority."""

import ctypes
import os

M_ARENA_MAX = -8  # from glibc's malloc.h
MALLOC_ARENAS = 2
WORKER_NICE = 5


def limit_malloc_arenas() -> None:
    """Let all threads allocate from the same two malloc arenas. Call it before threads are started.

    By default glibc gives each thread its own arena, and freed memory stays in it: each of a worker's
    twenty threads keeps the most memory that it ever needed. Other C libraries have no such call.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, MALLOC_ARENAS)


def lower_priority() -> None:
    """Lower the priority of this process, so that pages come first where cores are scarce.

    Sandboxes that are children of this process inherit the priority.
    """
    os.nice(WORKER_NICE)
