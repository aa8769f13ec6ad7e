"""The check of a row before it is saved: one query for all check constraints, and the error of each that fails."""

import pytest
from django.db import connection
from django.db.models import CheckConstraint
from django.test.utils import CaptureQueriesContext

from paca.agents.models import Agent
from paca.common import validation
from paca.common.errors import Invalid
from tests.support.world import make_world

pytestmark = pytest.mark.django_db


def queries_of_check(agent: Agent) -> int:
    with CaptureQueriesContext(connection) as captured:
        validation.check(agent)
    return sum("SAVEPOINT" not in query["sql"] for query in captured)


def test_check_constraints_of_a_valid_row_cost_one_query(monkeypatch):
    agent = make_world().agent
    constraints = [each for each in Agent._meta.constraints if isinstance(each, CheckConstraint)]
    assert len(constraints) > 5
    before = queries_of_check(agent)
    others = [each for each in Agent._meta.constraints if each not in constraints]
    monkeypatch.setattr(Agent._meta, "constraints", others)
    assert queries_of_check(agent) == before - 1


def test_check_names_the_field_of_each_constraint_that_fails():
    agent = make_world().agent
    agent.limit_steps, agent.limit_concurrent = 0, 0
    with pytest.raises(Invalid) as refused:
        validation.check(agent)
    assert {"limit_steps", "limit_concurrent"} <= set(refused.value.fields)
    with pytest.raises(Invalid) as refused:
        validation.check(agent, exclude=["limit_steps"])
    assert "limit_steps" not in refused.value.fields


def test_check_of_a_number_that_no_database_holds_still_names_the_others():
    agent = make_world().agent
    agent.priority, agent.limit_concurrent = 10**30, 0
    with pytest.raises(Invalid) as refused:
        validation.check(agent)
    assert "limit_concurrent" in refused.value.fields


@pytest.mark.parametrize("bad", ["a\0", "\ud800"])
def test_text_that_postgresql_refuses_is_an_error_of_its_field_also_within_json(bad: str):
    agent = make_world().agent
    agent.description, agent.parameters, agent.tools = bad, {"a": [{bad: 1}]}, ["bash", bad]
    with pytest.raises(Invalid) as refused:
        validation.check(agent)
    assert set(refused.value.fields) == {"description", "parameters", "tools"}
    with pytest.raises(Invalid) as refused:
        validation.check_fields(agent, exclude=("tools",))
    assert set(refused.value.fields) == {"description", "parameters"}
