"""The model calls that follow a turn which has ended: they read no message, and the conversation waits for none."""

from paca.engine import memory_review, titles

PURPOSES = frozenset({titles.PURPOSE, memory_review.PURPOSE})
