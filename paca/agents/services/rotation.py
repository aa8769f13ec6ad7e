"""Brings every stored secret under the first encryption key, while Paca works on."""

from collections.abc import Iterator

from django.db import models

from paca.agents import encryption
from paca.agents.models import Agent

# Every column that holds a secret. A test finds columns that are missing here.
COLUMNS: tuple[tuple[type[models.Model], str], ...] = ((Agent, "encrypted_key"),)


def check() -> int:
    """How many secrets there are; raises ``SecretUnreadable`` unless all can be read.

    Asked before anything is changed: a forgotten old key must not leave two halves behind.
    """
    total = unreadable = 0
    for _, _, _, stored in _secrets():
        total += 1
        try:
            encryption.decrypt(stored)
        except encryption.SecretUnreadable:
            unreadable += 1
    if unreadable:
        raise encryption.SecretUnreadable(
            f"{unreadable} of {total} secrets cannot be read with ENCRYPTION_KEY, so nothing was "
            "changed. Put the key they were stored under behind the new one: ENCRYPTION_KEY=new,old"
        )
    return total


def rotate() -> Iterator[int]:
    """Store what is under another key anew, one row at a time; yields how many are done."""
    done = 0
    for model, column, pk, stored in _secrets():
        if encryption.is_current(stored):
            continue
        fresh = encryption.encrypt(encryption.decrypt(stored))
        if encryption.decrypt(fresh) != encryption.decrypt(stored):
            raise encryption.SecretUnreadable("A secret came out changed; it was left as it was.")
        # Only if nobody has stored another meanwhile: theirs is under the first key already.
        rows = model._default_manager.filter(pk=pk, **{column: stored})
        done += rows.update(**{column: fresh})
        yield done


def not_current() -> int:
    """How many secrets are not under the first key."""
    return sum(not encryption.is_current(stored) for _, _, _, stored in _secrets())


def _secrets() -> Iterator[tuple[type[models.Model], str, object, str]]:
    for model, column in COLUMNS:
        rows = model._default_manager.exclude(**{column: ""}).values_list("pk", column)
        for pk, stored in rows.iterator(chunk_size=500):
            yield model, column, pk, stored
