"""Comments: threads, edits with their versions, deletion, and the members that are mentioned."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.common.errors import Invalid, NotAllowed, NotFound
from paca.projects import signals
from paca.projects.models import Comment, Doc, Member, Notification, Task
from paca.projects.services import comments
from tests.projects.support import make_doc, make_member, make_task
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def task(world: World) -> Task:
    return make_task(world)


@pytest.fixture
def mentioned() -> Iterator[list[tuple[str, Member]]]:
    """The handle of each member that was mentioned, and the actor."""
    seen: list[tuple[str, Member]] = []

    def note(member: Member, by: Member, **_: Any) -> None:
        seen.append((member.handle, by))

    signals.member_mentioned.connect(note)
    yield seen
    signals.member_mentioned.disconnect(note)


def handles(mentioned: list[tuple[str, Member]]) -> list[str]:
    return [handle for handle, _ in mentioned]


def test_comment_tells_each_mentioned_member_once_and_never_its_author(
    world: World, task: Task, mentioned: list[tuple[str, Member]]
) -> None:
    make_member(world, "bob")
    text = f"@bob and @Rosa, @rosa, @nobody and @{world.user.username}: look"
    comments.add(task, text=text, by=world.owner)
    assert handles(mentioned) == ["bob", "rosa"]


def test_mention_that_an_edit_adds_counts_and_one_that_was_there_does_not(
    world: World, task: Task, mentioned: list[tuple[str, Member]]
) -> None:
    make_member(world, "bob")
    comment = comments.add(task, text="@rosa", by=world.owner)
    comments.edit(comment, text="nobody", by=world.owner)
    comments.edit(comment, text="@bob and @rosa again", by=world.owner)
    assert handles(mentioned) == ["rosa", "bob"]
    assert [n.recipient.username for n in Notification.objects.all()] == ["bob"]


def test_mention_by_an_agent_tells_the_conversation_that_it_acts_in(
    world: World, task: Task, mentioned: list[tuple[str, Member]]
) -> None:
    agent, conversation = world.agent.member, world.project.pk
    agent.acting_in = conversation
    comment = comments.add(task, text=f"@{world.user.username} done, @rosa", by=agent)
    assert comment.conversation_id == conversation
    assert [(handle, by.acting_in) for handle, by in mentioned] == [
        (world.user.username, conversation)
    ]


def test_mention_of_a_removed_member_or_of_a_member_elsewhere_counts_nothing(
    world: World, task: Task, mentioned: list[tuple[str, Member]]
) -> None:
    make_member(make_world("Elsewhere"), "eve")
    bob = make_member(world, "bob")
    Member.objects.filter(pk=bob.pk).update(deleted_at=timezone.now())
    comments.add(task, text="@eve @bob", by=world.owner)
    assert mentioned == []


def test_edit_keeps_the_earlier_texts_as_versions(world: World, task: Task) -> None:
    comment = comments.add(task, text="one", by=world.owner)
    assert comments.edit(comment, text="one ", by=world.owner).edited_at is None
    comments.edit(comment, text="two", by=world.owner)
    edited = comments.edit(comment, text="three", by=world.owner)
    assert edited.edited_at is not None
    assert [(v.number, v.text) for v in edited.versions.all()] == [(1, "one"), (2, "two")]


def test_comment_is_edited_by_its_author_only(world: World, task: Task) -> None:
    comment = comments.add(task, text="mine", by=world.agent.member)
    with pytest.raises(NotAllowed):
        comments.edit(comment, text="yours", by=world.owner)


def test_comment_is_edited_so_often_only(
    world: World, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comments, "MAX_VERSIONS", 2)
    comment = comments.add(task, text="0", by=world.owner)
    for text in ("1", "2"):
        comments.edit(comment, text=text, by=world.owner)
    with pytest.raises(Invalid) as refused:
        comments.edit(comment, text="3", by=world.owner)
    assert "Write another comment." in refused.value.fields["text"][0]
    comment.refresh_from_db()
    assert (comment.text, comment.versions.count()) == ("2", 2)


def test_deleted_comment_loses_all_its_texts_and_keeps_its_answers(
    world: World, task: Task
) -> None:
    bob = make_member(world, "bob")
    comment = comments.add(task, text="a secret for @bob", by=world.owner)
    comments.edit(comment, text="no secret for @bob", by=world.owner)
    answer = comments.add(task, text="answer", by=bob, parent=comment)
    comments.delete(comment, by=world.owner)
    comment.refresh_from_db()
    assert (comment.text, comment.versions.count()) == ("", 0)
    assert answer.parent_id == comment.pk
    assert not Notification.objects.filter(comment=comment).exists()
    for change in (comments.delete, lambda c, by: comments.edit(c, text="back", by=by)):
        with pytest.raises(NotFound):
            change(comment, by=world.owner)


def test_answer_to_an_answer_joins_the_thread(world: World, task: Task) -> None:
    first = comments.add(task, text="first", by=world.owner)
    answer = comments.add(task, text="answer", by=world.owner, parent=first)
    assert comments.add(task, text="more", by=world.owner, parent=answer).parent == first


def test_comment_of_another_thing_is_no_parent(world: World, task: Task) -> None:
    doc = make_doc(world)
    on_doc = comments.add(doc, text="here", by=world.owner)
    with pytest.raises(Invalid):
        comments.add(task, text="there", by=world.owner, parent=on_doc)


@pytest.mark.parametrize("text", ["", "  \n", "x" * 50_001])
def test_empty_or_too_long_comment_is_refused(text: str, world: World, task: Task) -> None:
    with pytest.raises(Invalid):
        comments.add(task, text=text, by=world.owner)
    assert not Comment.objects.exists()


def test_comment_with_characters_that_no_database_stores_is_kept_without_them(
    world: World, task: Task
) -> None:
    assert comments.add(task, text="a\0b\ud800", by=world.owner).text == "a\u2400b?"


def test_deleted_task_takes_no_comment(world: World, task: Task) -> None:
    task.deleted_at = timezone.now()
    with pytest.raises(NotFound):
        comments.add(task, text="late", by=world.owner)


def test_error_in_a_receiver_of_a_mention_stores_no_comment(world: World, task: Task) -> None:
    def refuse(**_: Any) -> None:
        raise Invalid("no")

    signals.member_mentioned.connect(refuse)
    try:
        with pytest.raises(Invalid), transaction.atomic():
            comments.add(task, text="@rosa", by=world.owner)
    finally:
        signals.member_mentioned.disconnect(refuse)
    assert not Comment.objects.exists()


def test_database_refuses_a_comment_on_a_task_and_a_doc(world: World, task: Task) -> None:
    doc: Doc = make_doc(world)
    with (
        pytest.raises(IntegrityError, match="comment_is_on_one_task_or_one_doc"),
        transaction.atomic(),
    ):
        Comment.objects.create(
            project=world.project, task=task, doc=doc, author=world.owner, text="both"
        )


def test_open_pages_hear_of_a_comment_and_where_it_stands(
    world: World,
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(get_bus(), "live", lambda topic, frame: heard.append((topic, frame)))
    with django_capture_on_commit_callbacks(execute=True):
        comment = comments.add(task, text="look", by=world.owner)
    changed = {"type": "comment.changed", "id": str(comment.pk), "version": 0, "task": task.number}
    assert heard == [(project_topic(world.project.pk), changed)]
