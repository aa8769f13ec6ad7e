"""Tunes a process when it starts: memory, garbage collection, and scheduling priority."""

import ctypes
import gc
import os

M_ARENA_MAX = -8  # from glibc's malloc.h
MALLOC_ARENAS = 2
WORKER_NICE = 5
COLLECTED = gc.get_threshold()
OBJECTS_OF_A_START = 100_000  # between two collections


def limit_malloc_arenas() -> None:
    """Let all threads allocate from the same two malloc arenas. Call it before threads are started.

    By default glibc gives each thread its own arena, and freed memory stays in it: each of a worker's
    twenty threads keeps the most memory that it ever needed. Other C libraries have no such call.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, MALLOC_ARENAS)


def collect_rarely() -> None:
    """Collect garbage rarely while modules are loaded: they leave hardly any, and a start would collect 600 times."""
    gc.set_threshold(OBJECTS_OF_A_START)


def keep_what_is_loaded() -> None:
    """Leave what was loaded out of later collections, which then pause the event loops for less time."""
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def lower_priority() -> None:
    """Lower the priority of this process, so that pages come first where cores are scarce.

    Sandboxes that are children of this process inherit the priority.
    """
    os.nice(WORKER_NICE)
