"""Search: what is found, in which order, by whom, and that no input breaks it."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from paca.projects import search, search_entries, search_words
from paca.projects.models import SearchEntry, SearchKind, Task
from paca.projects.search import Hit
from paca.projects.services import comments, docs, tasks
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def everything(_permission: str) -> bool:
    return True


def find(
    world: World,
    words: str,
    kinds: list[str] | None = None,
    may: Callable[[str], bool] = everything,
) -> list[Hit]:
    return search.find(world.project, words, kinds, may=may)


def titles(hits: list[Hit]) -> list[str]:
    return [f"{hit.kind} {hit.title}" for hit in hits]


def make_task(world: World, title: str, description: str = "") -> Task:
    return tasks.create(world.project, title=title, description=description, by=world.owner)


def test_search_finds_tasks_docs_comments_and_conversations(world: World) -> None:
    task = make_task(world, "Paint the boat", "in harbor blue")
    doc = docs.create(world.project, title="Colors", text="All blue ones.", by=world.owner)
    comments.add(task, text="which blue?", by=world.owner)
    comments.add(doc, text="blue is best", by=world.owner)
    search_entries.put_conversation(world.project.pk, world.project.pk, title="Talk about blue")
    assert set(titles(find(world, "blue"))) == {
        "task Paint the boat",
        "doc Colors",
        "comment Paint the boat",
        "comment Colors",
        "conversation Talk about blue",
    }
    assert titles(find(world, "blue", ["doc"])) == ["doc Colors"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("boat", "The Boats."),
        ("BOAT paint", "paint, then launch the boat"),
        ("cafe", "le Café"),
        ("Café", "CAFE"),
        ("strasse", "Straße"),
        ("ёлка", "ЕЛКА"),
        ("main.py", "see src/main.py"),
        ("src/main", "see src/main.py"),
        ("user_name", "user name"),
        ("확인", "확인해 주세요"),
        ("一下", "请看一下这里"),
        ("O'Brien", "by O'Brien"),
        ("3.11", "Python 3.11"),
        ("boat AND", "boat and tree"),
    ],
)
def test_words_are_found_by_their_beginning_in_any_case_and_accent(
    words: str, text: str, world: World
) -> None:
    make_task(world, "unrelated")
    make_task(world, "wanted", text)
    assert titles(find(world, words)) == ["task wanted"]


@pytest.mark.parametrize(("words", "text"), [("下一", "请看一下"), ("oat", "boat"), ("a b", "a")])
def test_other_words_are_not_found(words: str, text: str, world: World) -> None:
    make_task(world, "title", text)
    assert find(world, words) == []


def test_match_in_a_title_comes_before_one_in_a_text(world: World) -> None:
    make_task(world, "Launch", "when the boat is dry")
    make_task(world, "Boat")
    make_task(world, "Harbor", "no boat here")
    assert titles(find(world, "boat"))[0] == "task Boat"


def test_task_that_is_named_by_key_or_number_comes_first(world: World) -> None:
    for _ in range(4):
        make_task(world, "Paint", "see 3 and 3 and 3")
    prefix = world.project.prefix
    for words in (f"{prefix}-3", f"{prefix.lower()}-3", "#3", "3", " 3 ", "OLD-3"):
        assert find(world, words)[0].place == "3"


def test_reader_finds_only_what_they_may_read(world: World) -> None:
    task = make_task(world, "blue boat")
    doc = docs.create(world.project, title="blue plan", by=world.owner)
    comments.add(task, text="blue", by=world.owner)
    comments.add(doc, text="blue", by=world.owner)
    search_entries.put_conversation(world.project.pk, world.project.pk, title="blue talk")
    found = {
        permission: {hit.about for hit in find(world, "blue", may=permission.__eq__)}
        for permission in ("tasks:read", "docs:read", "conversations:read", "members:read")
    }
    assert found == {
        "tasks:read": {"task"},
        "docs:read": {"doc"},
        "conversations:read": {"conversation"},
        "members:read": set(),
    }
    assert find(world, "1", may="docs:read".__eq__) == []


def test_other_projects_are_not_searched(world: World) -> None:
    other = make_world("Elsewhere")
    make_task(other, "blue boat")
    assert find(world, "blue") == []
    assert find(world, "1") == []


def test_index_follows_changes_and_deletion(world: World) -> None:
    task = make_task(world, "blue boat")
    comment = comments.add(task, text="green", by=world.owner)
    tasks.change(task, title="red boat", by=world.owner)
    comments.edit(comment, text="yellow", by=world.owner)
    assert [len(find(world, word)) for word in ("blue", "green", "red", "yellow")] == [0, 0, 1, 1]
    tasks.delete(task, by=world.owner)
    assert [len(find(world, word)) for word in ("red", "yellow")] == [0, 0]
    tasks.restore(task, by=world.owner)
    assert [len(find(world, word)) for word in ("red", "yellow")] == [1, 1]
    comments.delete(comment, by=world.owner)
    assert find(world, "yellow") == []


def test_comment_written_while_its_task_is_deleted_is_not_found(world: World) -> None:
    task = make_task(world, "boat")
    not_yet_deleted = Task.objects.get(pk=task.pk)
    tasks.delete(task, by=world.owner)
    comments.add(not_yet_deleted, text="green", by=world.owner)
    assert find(world, "green") == []
    tasks.restore(task, by=world.owner)
    assert len(find(world, "green")) == 1


ODD_INPUTS = [
    "",
    "   ",
    "🎉🎉",
    '"',
    "'",
    "''':*",
    '" OR "a',
    "a* b*",
    "NOT",
    "AND OR NOT NEAR",
    "NEAR(a b)",
    "title_words:a",
    "a & | ! <-> (b",
    "\\",
    "a\0b",
    "\ud800",
    "%_",
    "-",
    "^a",
    "{a b}:c",
    "a" * 10_000,
    "a " * 5_000,
    "一" * 1_000,
    "1" * 100,
    "١٢٣",
    "ß" * 100,
]


@pytest.mark.parametrize("words", ODD_INPUTS)
def test_odd_input_is_searched_like_any_other(words: str, world: World) -> None:
    make_task(world, "other", "nothing of it")
    find(world, words)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(max_size=40))
@example("0Ⓐ")  # a letter for the index, and no letter before it is folded
@example("e\u0301x")  # an accent of its own
@example("0ℍ")
def test_any_text_is_indexed_and_found_by_its_own_words(world: World, text: str) -> None:
    task = Task(project=world.project, number=7, title="t", description=text)
    search_entries.put(task)
    if search_words.parse(text):
        assert "7" in {hit.place for hit in find(world, text)} or len(text) > 40
    search_entries.remove(task)


def test_search_takes_the_same_queries_for_few_and_many_hits(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    task = make_task(world, "boat 1")
    for count in (3, 30):
        while SearchEntry.objects.count() < count:
            comments.add(task, text="boat", by=world.owner)
        with django_assert_num_queries(3):
            assert len(find(world, "boat")) == min(20, count)


def test_snippet_shows_the_words_where_they_stand(world: World) -> None:
    text = "intro " * 100 + "the <b>Café</b>\nand the boats " + "end " * 100
    make_task(world, "wanted", text)
    snippet = find(world, "cafe boat")[0].snippet
    assert [piece.text for piece in snippet if piece.marked] == ["Café", "boats"]
    shown = "".join(piece.text for piece in snippet)
    assert shown.startswith("…")
    assert "the <b>Café</b> and the boats" in shown


def test_snippet_of_a_match_far_down_in_a_long_text_is_its_beginning(world: World) -> None:
    make_task(world, "wanted", "\u770b" * 30_000 + " boat")
    snippet = find(world, "boat")[0].snippet
    assert [piece.marked for piece in snippet] == [False, False]
    assert snippet[0].text == "\u770b" * 200


def test_rebuild_makes_the_same_entries_and_deletes_the_others(world: World) -> None:
    task = make_task(world, "boat")
    comments.add(task, text="green", by=world.owner)
    gone = make_task(world, "sunk boat")
    docs.create(world.project, title="Plan of the boat", by=world.owner)
    Task.objects.filter(pk=gone.pk).update(deleted_at=task.created_at)
    before = titles(find(world, "boat"))
    SearchEntry.objects.filter(kind=SearchKind.DOC).delete()
    assert search_entries.rebuild() == 3
    assert sorted(titles(find(world, "boat"))) == sorted(set(before) - {"task sunk boat"})
    assert len(find(world, "green")) == 1
