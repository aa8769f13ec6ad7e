"""Docs: versions, restore, deletion, and their nested folders."""

import pytest
from django.db.models import F

from paca.common.errors import Invalid, NotFound
from paca.projects.models import Activity, Doc, DocFolder, SearchEntry
from paca.projects.services import comments, doc_folders, docs
from paca.projects.services.doc_folders import FolderNameTaken
from tests.projects.support import make_member
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def doc(world: World) -> Doc:
    return docs.create(world.project, title="Plan", text="one", by=world.owner)


def versions(doc: Doc) -> list[tuple[int, str, str]]:
    return list(doc.versions.order_by("number").values_list("number", "title", "text"))


def test_each_change_of_title_or_text_is_one_version(world: World, doc: Doc) -> None:
    bob = make_member(world, "bob")
    docs.change(doc, text="two", title="Plan B", by=bob)
    docs.change(doc, text="two", title=" Plan B ", by=world.owner)
    docs.change(doc, position=7.0, by=world.owner)
    assert versions(doc) == [(1, "Plan", "one"), (2, "Plan B", "two")]
    assert (doc.version, doc.updated_by) == (2, bob)


def test_change_of_the_place_leaves_the_version_that_others_edit(world: World, doc: Doc) -> None:
    before = Doc.objects.get(pk=doc.pk).updated_at
    docs.change(doc, position=7.0, by=world.owner)
    assert Doc.objects.get(pk=doc.pk).updated_at == before


def test_earlier_version_is_restored_as_a_new_version(world: World, doc: Doc) -> None:
    docs.change(doc, text="two", by=world.owner)
    docs.restore_version(doc, number=1, by=world.owner)
    docs.restore_version(doc, number=3, by=world.owner)
    assert versions(doc) == [(1, "Plan", "one"), (2, "Plan", "two"), (3, "Plan", "one")]
    with pytest.raises(NotFound):
        docs.restore_version(doc, number=9, by=world.owner)


def test_timeline_of_a_doc_tells_its_changes(world: World, doc: Doc) -> None:
    folder = doc_folders.create(world.project, name="Guides", by=world.owner)
    docs.change(doc, title="Plan B", folder=folder, by=world.owner)
    docs.delete(doc, by=world.owner)
    docs.restore(doc, by=world.owner)
    entries = Activity.objects.filter(doc=doc).order_by("created_at")
    assert [(entry.kind, [c["field"] for c in entry.changes]) for entry in entries] == [
        ("doc.created", []),
        ("doc.updated", ["title", "folder"]),
        ("doc.deleted", []),
        ("doc.restored", []),
    ]


def test_deleted_doc_takes_no_change_and_comes_back_with_its_comments(
    world: World, doc: Doc
) -> None:
    comments.add(doc, text="why?", by=world.owner)
    docs.delete(doc, by=world.owner)
    assert not SearchEntry.objects.filter(place=str(doc.pk)).exists()
    for act in (docs.delete, lambda d, by: docs.change(d, text="late", by=by)):
        with pytest.raises(NotFound):
            act(doc, by=world.owner)
    docs.restore(doc, by=world.owner)
    kinds = SearchEntry.objects.filter(place=str(doc.pk)).values_list("kind", flat=True)
    assert set(kinds) == {"doc", "comment"}


@pytest.mark.parametrize(
    "fields", [{"title": ""}, {"title": "x" * 201}, {"title": "a", "text": "x" * 500_001}]
)
def test_doc_that_is_not_valid_is_refused(fields: dict[str, str], world: World) -> None:
    with pytest.raises(Invalid):
        docs.create(world.project, by=world.owner, **fields)
    assert not Doc.objects.exists()


def test_new_doc_is_the_last_of_its_folder(world: World) -> None:
    first, second = (docs.create(world.project, title=t, by=world.owner) for t in "ab")
    assert first.position < second.position


def test_folder_of_another_project_is_refused(world: World, doc: Doc) -> None:
    other = make_world("Elsewhere")
    foreign = doc_folders.create(other.project, name="Guides", by=other.owner)
    with pytest.raises(Invalid):
        docs.change(doc, folder=foreign, by=world.owner)
    with pytest.raises(Invalid):
        doc_folders.create(world.project, name="Inside", parent=foreign, by=world.owner)


# --- folders ----------------------------------------------------------------------------------


def make_path(world: World, *names: str) -> list[DocFolder]:
    """Folders of these names, each in the one before."""
    made: list[DocFolder] = []
    for name in names:
        parent = made[-1] if made else None
        made.append(doc_folders.create(world.project, name=name, parent=parent, by=world.owner))
    return made


def test_folder_cannot_be_moved_into_itself(world: World) -> None:
    top, _, bottom = make_path(world, "a", "b", "c")
    for parent in (bottom, top):
        with pytest.raises(Invalid, match="not valid") as refused:
            doc_folders.change(top, parent=parent, by=world.owner)
        assert refused.value.fields["parent"] == ["A folder cannot be in itself."]
    assert not DocFolder.objects.filter(parent=F("id")).exists()


def test_folders_are_ten_deep_at_most(world: World) -> None:
    path = make_path(world, *"abcdefghij")
    with pytest.raises(Invalid):
        doc_folders.create(world.project, name="k", parent=path[-1], by=world.owner)
    top, _ = make_path(world, "x", "y")
    with pytest.raises(Invalid):
        doc_folders.change(top, parent=path[-2], by=world.owner)


def test_folder_name_is_unique_in_its_folder(world: World) -> None:
    (top,) = make_path(world, "a")
    doc_folders.create(world.project, name="b", parent=top, by=world.owner)
    for parent, name in ((None, "a"), (top, "b")):
        with pytest.raises(Invalid):
            doc_folders.create(world.project, name=name, parent=parent, by=world.owner)


def test_content_of_a_deleted_folder_moves_up(world: World, doc: Doc) -> None:
    top, middle, bottom = make_path(world, "a", "b", "b")
    docs.change(doc, folder=middle, by=world.owner)
    doc_folders.delete(middle, by=world.owner)
    bottom.refresh_from_db()
    doc.refresh_from_db()
    assert (bottom.parent, doc.folder) == (top, top)


def test_folder_is_not_deleted_if_a_name_in_it_is_taken_above(world: World) -> None:
    _, middle = make_path(world, "a", "b")
    for parent in (middle, middle.parent):
        doc_folders.create(world.project, name="x", parent=parent, by=world.owner)
    with pytest.raises(FolderNameTaken):
        doc_folders.delete(middle, by=world.owner)
    assert DocFolder.objects.filter(pk=middle.pk).exists()
