"""Each named point is wrapped around a function that exists, and each part takes known points."""

import inspect

import pytest

from tests.chaos import (
    approving,
    background_work,
    helping,
    mcp_calls,
    points,
    reaching_limits,
    repository_work,
    setting_up,
    switching,
    teaming,
)


@pytest.mark.parametrize("name", points.ALL_POINTS)
def test_point_leads_to_a_function(name):
    point = points.ALL_POINTS[name]
    assert callable(inspect.getattr_static(point.owner, point.name))


@pytest.mark.parametrize("short", [True, False])
def test_each_case_dies_at_a_known_point(short):
    for testbed in ("sqlite", "services"):
        found = [case.point for case in approving.cases(testbed, short=short)]
        found += [case.point for case in reaching_limits.cases(testbed, short=short)]
        found += switching.cases(testbed, short=short)
        found += background_work.cases(testbed, short=short)
        found += mcp_calls.cases(testbed, short=short)
        found += helping.cases(testbed, short=short)
        found += setting_up.cases(testbed, short=short)
        found += teaming.cases(testbed, short=short)
        repositories = repository_work.cases(testbed, short=short)
        found += [name.partition(":")[0] for name in repositories]
        assert found
        assert set(found) <= points.ALL_POINTS.keys()
