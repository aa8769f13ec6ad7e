"""The tools that list, read, create and change docs."""

from typing import Any

import pytest

from paca.projects.models import Doc, DocFolder, DocVersion
from paca.projects.services import comments, docs
from tests.projects.tools.conftest import AgentAtWork
from tests.support.world import World, make_world

TEXT = "# Guide\n\nOpen the door.\nOpen the window.\n"


@pytest.fixture
def folder(world: World) -> DocFolder:
    top = DocFolder.objects.create(project=world.project, name="Guides")
    return DocFolder.objects.create(project=world.project, name="Setup", parent=top)


@pytest.fixture
def doc(world: World, folder: DocFolder) -> Doc:
    return docs.create(world.project, title="House", text=TEXT, folder=folder, by=world.owner)


def text_of(doc: Doc) -> str:
    doc.refresh_from_db()
    return doc.text


def test_agent_creates_a_doc_in_a_folder_and_finds_it(
    agent: AgentAtWork, folder: DocFolder
) -> None:
    told = agent.does("create_doc", title="Keys", text="Under the mat.", folder="guides/setup")
    made = Doc.objects.get()
    assert told == f"Created Keys, version 1 (id {made.pk})."
    assert (made.folder, made.updated_by) == (folder, agent.member)
    assert agent.does("list_docs").startswith(f"Guides/Setup/Keys (id {made.pk}, changed ")
    assert agent.does("list_docs", folder="Guides") == agent.does("list_docs")
    assert agent.does("read_doc", doc="keys").splitlines()[1:] == [
        "Version: 1",
        "",
        "Under the mat.",
    ]


def test_list_of_docs_goes_on_where_it_ended(agent: AgentAtWork) -> None:
    by = agent.world.owner
    Doc.objects.bulk_create(
        Doc(project=agent.world.project, title=f"Doc {number}", updated_by=by)
        for number in range(130)
    )
    first = agent.does("list_docs").splitlines()
    after = first[-1].partition("after=")[2].removesuffix("]")
    second = agent.does("list_docs", after=after).splitlines()
    titles = {line.partition(" (")[0] for line in [*first[:-1], *second]}
    assert titles == {f"Doc {number}" for number in range(130)}


def test_agent_reads_a_long_doc_in_parts_with_its_comments(agent: AgentAtWork, doc: Doc) -> None:
    long_text = "\n".join(f"row {number}" for number in range(9000))
    docs.change(doc, by=agent.world.owner, text=long_text)
    comments.add(doc, text="Too long.", by=agent.world.owner)
    read, line = "", 1
    while line:
        part = agent.does("read_doc", doc="House", first_line=line)
        assert len(part.encode()) < 30 * 1024
        body = part.split("\n\n")[1]
        read += "\n".join(body.splitlines()[:-1]) + "\n"
        line = int(body.partition("first_line=")[2].rstrip("]") or 0)
    assert read.strip() == long_text
    assert "Too long." in part
    window = agent.does("read_doc", doc="House", first_line=3, line_count=2)
    assert "row 2\nrow 3\n[lines 3 to 4 of 9,000; go on with first_line=5]" in window


def test_agent_reads_a_long_comment_on_a_doc(agent: AgentAtWork, doc: Doc) -> None:
    said = comments.add(doc, text="sea " * 3_000, by=agent.world.owner)
    part = agent.does("read_doc", doc="House", comment=str(said.pk))
    assert part.count("sea ") >= 2_999
    assert "Guide" not in part


def test_agent_changes_a_doc_in_three_ways(agent: AgentAtWork, doc: Doc) -> None:
    told = agent.does("update_doc", doc="House", old="the window", new="two windows")
    assert told == "Changed House; it has version 2 now."
    agent.does("update_doc", doc="House", append="## End")
    assert text_of(doc) == "# Guide\n\nOpen the door.\nOpen two windows.\n\n## End"
    agent.does("update_doc", doc=str(doc.pk), text="New.", version=3, title="Home")
    assert (text_of(doc), doc.title, doc.version) == ("New.", "Home", 4)
    versions = DocVersion.objects.filter(doc=doc, by=agent.member)
    assert sorted(versions.values_list("number", flat=True)) == [2, 3, 4]
    again = agent.does("update_doc", doc="Home", text="New.", version=4)
    assert again == "Home is so already: nothing was changed."


def test_text_that_another_wrote_meanwhile_is_not_overwritten(agent: AgentAtWork, doc: Doc) -> None:
    agent.does("read_doc", doc="House")
    docs.change(doc, by=agent.world.owner, text="Hers.")
    refused = agent.is_refused("update_doc", doc="House", text="Mine.", version=1)
    assert "the doc has version 2, last changed by @ada-harbor. Read it again." in refused
    assert text_of(doc) == "Hers."


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("list_docs", {"folder": "Guids"}, "There is no folder 'Guids' in the project. Folders there: Guides."),
    ("list_docs", {"folder": "Guides/Use"}, "There is no folder 'Use' in the folder Guides. Folders there: Setup."),
    ("list_docs", {"after": "x"}, "There is no doc 'x'. Docs: House."),
    ("read_doc", {"doc": ""}, "There is no doc ''"),
    ("read_doc", {"doc": "x\0"}, "doc: expected text without NUL"),
    ("read_doc", {"doc": "House", "line_count": 2001}, "from 1 to 2000"),
    ("read_doc", {"doc": "House", "before_comment": "12345678"}, "There is no comment"),
    ("create_doc", {"title": "x"}, "text: is missing"),
    ("create_doc", {"title": "", "text": ""}, "title: expected text that is not empty"),
    ("create_doc", {"title": " ", "text": ""}, "- title: "),
    ("create_doc", {"title": "x", "text": "y" * 500_001}, "of at most 500000 characters"),
    ("create_doc", {"title": "x", "text": "\ud800"}, "text: expected text"),
    ("create_doc", {"title": "x", "text": "", "folder": "Nowhere"}, "There is no folder 'Nowhere'"),
    ("update_doc", {"doc": "House"}, "give old and new, append, text or title"),
    ("update_doc", {"doc": "House", "text": "x"}, "name the version that you have read"),
    ("update_doc", {"doc": "House", "text": "x", "version": 7}, "the doc has version 1"),
    ("update_doc", {"doc": "House", "text": "x", "append": "y"}, "give only one of old, append and text"),
    ("update_doc", {"doc": "House", "old": "door"}, "old and new are needed together"),
    ("update_doc", {"doc": "House", "new": "door"}, "give old and new"),
    ("update_doc", {"doc": "House", "old": "", "new": "x"}, "old is not empty"),
    ("update_doc", {"doc": "House", "old": "roof", "new": "x"}, "the doc does not contain old"),
    ("update_doc", {"doc": "House", "old": "Open", "new": "x"}, "old occurs 2 times"),
    ("update_doc", {"doc": "House", "append": "y" * 499_999}, "- text: "),
    ("update_doc", {"doc": "Hose", "append": "x"}, "There is no doc 'Hose'. Docs: House."),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "told"), BAD)
def test_wrong_arguments_get_a_text_that_helps_and_change_nothing(
    agent: AgentAtWork, doc: Doc, tool: str, arguments: dict[str, Any], told: str
) -> None:
    assert told in agent.is_refused(tool, **arguments)
    assert text_of(doc) == TEXT
    assert (Doc.objects.count(), DocVersion.objects.count()) == (1, 1)


def test_docs_of_other_projects_and_deleted_ones_are_not_found(
    agent: AgentAtWork, doc: Doc
) -> None:
    other = make_world("Elsewhere")
    foreign = docs.create(other.project, title="Plan", text="Secret", by=other.owner)
    docs.delete(doc, by=agent.world.owner)
    for name in ("House", str(doc.pk), "Plan", str(foreign.pk)):
        assert "There is no doc" in agent.is_refused("read_doc", doc=name)
        assert "There is no doc" in agent.is_refused("update_doc", doc=name, append="x")
    assert agent.does("list_docs") == "There are no docs here."
