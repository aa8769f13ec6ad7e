"""Which conversations a worker claims, and the query that finds them."""

import re

import pytest
from django.db import connection, transaction

from paca.agents import services as agents
from paca.conversations import services
from paca.conversations.models import ConversationStatus
from paca.worker import claim, claim_queries
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)


def test_claim_of_other_agents_work_is_not_blocked_by_an_agent_at_its_limit():
    here = make_world(limit_concurrent=1)
    other = agents.create(
        here.project,
        role=here.role("agent"),
        by=here.owner,
        name="Nils",
        handle="nils",
        model="demo/guide",
    )
    for number in range(1 + claim_queries.MAX_CANDIDATES):
        services.start_chat(here.agent, text=f"number {number}", by=here.owner)
    waiting = services.start_chat(other, text="and me", by=here.owner)
    (first,) = claim.claim("one", lease_seconds=60, limit=9)
    (second,) = claim.claim("one", lease_seconds=60, limit=9)
    assert first.lease.conversation_id != second.lease.conversation_id
    assert second.lease.conversation_id == waiting.conversation_id
    assert claim.claim("one", lease_seconds=60, limit=9) == []
    assert (
        here.agent.conversations.filter(status=ConversationStatus.QUEUED).count()
        == claim_queries.MAX_CANDIDATES
    )


def test_claim_finds_waiting_conversations_by_an_index():
    queries = []

    def listen(execute, sql, parameters, many, context):
        queries.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(listen):
        claim.claim("one", lease_seconds=60, limit=1)
    ((sql, parameters),) = queries
    with transaction.atomic(), connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN"
        if connection.vendor == "postgresql":
            explain = "EXPLAIN"
            cursor.execute("SET LOCAL enable_seqscan = off")  # the table is empty here
        cursor.execute(f"{explain} {sql}", parameters)
        assert re.search("conversation_(claim|state)", str(cursor.fetchall()))
