"""Copies the beginning of one event log into another conversation."""

from uuid import UUID

from django.db import connection

from paca.conversations.sql_parameters import uuid_parameter


def copy_events(origin_id: UUID, to_id: UUID, *, upto_seq: int) -> None:
    """Copy the events up to ``upto_seq`` with their numbers, times and turns. Large payloads are shared.

    It is one statement, and no event passes through this process: a long log neither fills the memory nor
    holds the caller's locks for long.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO conversations_event"
            " (conversation_id, seq, type, source, turn, epoch, at, payload, blob_id)"
            " SELECT %s, seq, type, source, turn, 0, at, payload, blob_id"
            " FROM conversations_event WHERE conversation_id = %s AND seq <= %s ORDER BY seq",
            [uuid_parameter(to_id), uuid_parameter(origin_id), upto_seq],
        )
