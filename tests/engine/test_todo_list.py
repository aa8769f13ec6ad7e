"""The to-do list: what the agent may write, what the log tells of it, and that a summary carries it over."""

import pytest

from paca import events
from paca.engine.compaction_state import CompactionState
from paca.engine.context.carrying import TODO_TITLE, carried_text
from paca.engine.todo_list import NOW, TodoItem, TodoList, list_of
from paca.engine.tools.registry import BadArguments, Toolbox, workspace_tools
from tests.engine.world import World
from tests.support.model_script import calls, says

TOOLBOX = Toolbox(workspace_tools())


def item(text, state="open"):
    return {"text": text, "state": state}


def write(*items):
    return calls(("write_todo_list", {"items": list(items)}))


def refusal(items):
    with pytest.raises(BadArguments) as refused:
        TOOLBOX.parse("write_todo_list", {"items": items})
    return refused.value.detail


@pytest.mark.anyio
async def test_list_is_an_event_before_the_result_of_its_call():
    world = World(write(item("Look", "done"), item("Mend", "now"), item("Test")), says("Done."))
    await world.ask("Go")
    (changed,) = world.find(events.TodoChanged)
    assert changed.items == [item("Look", "done"), item("Mend", "now"), item("Test")]
    assert changed.since
    (returned,) = world.find(events.ToolReturned)
    assert returned.output == "The list has 1 of 3 done. Now: Mend"
    assert returned.call_id == changed.call_id
    order = [each for each in world.event_types if each in ("todo.changed", "tool.returned")]
    assert order == ["todo.changed", "tool.returned"]
    assert world.status == "finished/answered"


@pytest.mark.anyio
async def test_two_lists_of_one_reply_are_stored_in_their_order():
    both = calls(
        ("write_todo_list", {"items": [item("First", "now")]}),
        ("write_todo_list", {"items": [item("First", "done"), item("Second", "now")]}),
    )
    world = World(both, says("Done."))
    await world.ask("Go")
    assert [len(each.items) for each in world.find(events.TodoChanged)] == [1, 2]


@pytest.mark.anyio
async def test_refused_list_changes_nothing_and_the_model_is_told_the_rule():
    world = World(write(item("a", "now"), item("b", "now")), says("Done."))
    await world.ask("Go")
    assert not world.find(events.TodoChanged)
    (returned,) = world.find(events.ToolReturned)
    assert returned.cause == "invalid"
    assert "at most one item with the state now, and items 1, 2 have it" in returned.output


def test_present_item_keeps_the_time_at_which_it_was_begun():
    first = TodoList().replaced([TodoItem("Mend", NOW)], at="10:00")
    same = first.replaced([TodoItem("Look", "done"), TodoItem("Mend", NOW)], at="10:05")
    other = same.replaced([TodoItem("Mend", "done"), TodoItem("Test", NOW)], at="10:09")
    assert (first.since, same.since, other.since) == ("10:00", "10:00", "10:09")
    assert other.replaced([TodoItem("Test", "done")], at="10:10").since == ""


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([item(f"{n}") for n in range(21)], "at most 20 items, and there are 21"),
        ([item("x" * 201)], "a text of 1 to 200 characters in item 1, which has 201"),
        ([item("ok"), item(" \n ")], "a text of 1 to 200 characters in item 2, which has 0"),
        ([{"state": "now"}], "a text of 1 to 200 characters in item 1"),
        ([{"text": 5}], "a text of 1 to 200 characters in item 1"),
        ([item("a", "later")], "open, now or done as the state of item 1"),
        ([item("a", "now"), item("b"), item("c", "now")], "and items 1, 3 have it"),
        ([None], "an object with text and state as item 1"),
        ([["a"]], "an object with text and state as item 1"),
        ([item("a\ud800")], "items"),
        ("all of it", "expected a list"),
        ({"text": "a"}, "expected a list"),
        (None, "expected a list"),
    ],
)
def test_list_that_breaks_a_rule_is_refused_with_the_rule(items, said):
    assert said in refusal(items)


def test_list_takes_the_names_that_other_products_use():
    given = [
        {"content": "Look  twice\n", "status": "completed"},
        {"content": "Mend", "status": "in_progress", "activeForm": "Mending"},
        "Test",
    ]
    parsed = TOOLBOX.parse("write_todo_list", {"items": given})
    found = [(each.text, each.state) for each in parsed.arguments.items]
    assert found == [("Look twice", "done"), ("Mend", "now"), ("Test", "open")]
    assert parsed.subject == "1 of 3 done"


def test_twenty_items_and_none_are_allowed():
    assert len(TOOLBOX.parse("write_todo_list", {"items": ["x" * 200] * 20}).arguments.items) == 20
    assert TOOLBOX.parse("write_todo_list", {"items": []}).subject == "no items"


def test_summary_carries_the_newest_list_over():
    state = CompactionState()
    for items in ([item("Old", "now")], [item("Look", "done"), item("Mend", "now"), item("Test")]):
        state = state.advance(events.TodoChanged(items=items), 1)
    carried = carried_text(state, upto_seq=1, characters=3_000)
    assert f"{TODO_TITLE}\n- [done] Look\n- [now] Mend\n- [ ] Test" in carried
    assert "Old" not in carried
    cleared = state.advance(events.TodoChanged(items=[]), 2)
    assert TODO_TITLE not in carried_text(cleared, upto_seq=2, characters=3_000)


def test_stored_list_of_another_shape_is_read_without_an_error():
    found = list_of(events.TodoChanged(items=[{"text": "a", "more": 1}, {}]))
    assert found.items == (TodoItem("a"), TodoItem(""))
