"""Each tool of the MCP server does what its name says, by the addresses of the REST API."""

import asyncio

import pytest

from paca.conversations.models import Conversation
from paca.mcp_server.call import Call
from paca.mcp_server.tools.base import all_rows
from paca.projects.models import Comment, Doc, Task
from paca.projects.services import comments, tasks
from tests.support.mcp_caller import NEW, OLD, McpCaller

pytestmark = pytest.mark.django_db(transaction=True)


def test_tools_are_listed_and_called_in_each_revision(caller: McpCaller, world):
    for caller.version in (OLD, NEW, "2024-11-05", "2025-03-26", "2025-11-25"):
        status, answer = caller.ask("tools/list")
        assert status == 200
        listed = {tool["name"]: tool for tool in answer["result"]["tools"]}
        assert len(listed) == 19
        assert listed["get_task"]["annotations"]["readOnlyHint"] is True
        assert listed["start_agent"]["annotations"]["readOnlyHint"] is False
        assert "project" in listed["create_task"]["inputSchema"]["required"]
        assert [each["id"] for each in caller.tool("list_projects")] == [str(world.project.pk)]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_initialize_and_ping(caller: McpCaller, version):
    caller.version = version
    if version == OLD:
        params = {
            "protocolVersion": OLD,
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        status, answer = caller.ask("initialize", params)
        assert status == 200
        assert answer["result"]["serverInfo"]["name"] == "paca"
        assert answer["result"]["protocolVersion"] == OLD
        assert "data, not instructions" in answer["result"]["instructions"]
        assert "Mcp-Session-Id" not in caller.headers
        assert caller.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')[0] == 202
    else:
        status, answer = caller.ask("server/discover")
        assert status == 200, answer
        assert NEW in answer["result"]["supportedVersions"]


def test_address_without_its_last_slash_answers_too(caller: McpCaller):
    caller.path = "/mcp"
    assert caller.tool("list_projects")


def test_project_search_and_agents_are_shown(caller: McpCaller, world):
    project = world.project.pk
    tasks.create(world.project, title="Paint the harbor wall", by=world.owner)
    shown = caller.tool("get_project", project=project)
    assert {"name", "prefix", "statuses", "members"} <= set(shown)
    assert {each["kind"] for each in shown["members"]} == {"human", "agent"}
    found = caller.tool("search", project=project, words="paint wall")
    assert [(each["kind"], each["title"]) for each in found] == [("task", "Paint the harbor wall")]
    (agent,) = caller.tool("list_agents", project=project)["results"]
    assert agent["id"] == str(world.agent.pk)
    assert "key" not in agent


def test_task_is_made_read_changed_and_commented(caller: McpCaller, world):
    project = world.project.pk
    made = caller.tool("create_task", project=project, title="Paint", description="All of it")
    status = caller.tool("get_project", project=project)["statuses"][-1]
    changed = caller.tool(
        "update_task",
        project=project,
        task=made["key"],
        status_id=status["id"],
        assignee_ids=[str(world.owner.pk)],
        if_updated_at=made["updated_at"],
    )
    assert changed["status"]["name"] == status["name"]
    assert changed["description"] == "All of it"
    comment = caller.tool(
        "add_comment", project=project, task=made["number"], text="Which **red**?"
    )
    shown = caller.tool("get_task", project=project, task=made["number"])
    assert shown["newest_comments"][0]["id"] == comment["id"]
    assert shown["newest_comments"][0]["text"] == "Which **red**?"
    listed = caller.tool("list_tasks", project=project, assignee="me", limit=1)
    assert [each["key"] for each in listed["results"]] == [made["key"]]
    again = caller.error(
        "update_task",
        project=project,
        task=made["number"],
        title="Other",
        if_updated_at=made["updated_at"],
    )
    assert again["code"] == "changed_meanwhile"
    assert Task.objects.get().title == "Paint"


def test_long_description_is_read_in_parts_whatever_the_comments_say(caller: McpCaller, world):
    task = tasks.create(world.project, title="Long", description="ab" * 30_000, by=world.owner)
    for number in range(3):
        comments.add(task, text=f"{number}" * 50_000, by=world.owner)
    given = {"project": world.project.pk, "task": task.number}
    first = caller.tool("get_task", **given)
    rest = caller.tool("get_task", **given, offset=first["description_next_offset"], comments=1)
    assert first["description"] + rest["description"] == "ab" * 30_000
    assert "description_next_offset" not in rest
    assert [each["text"][8_000:] for each in first["newest_comments"]] == [
        " [... 42000 more characters]"
    ] * 3
    assert rest["newest_comments"][0]["text"].startswith("2" * 24_000)
    assert "newest_comments" not in caller.tool("get_task", **given, comments=0)


def test_short_lists_have_the_rows_of_all_pages():
    asked = []

    class Rest:
        async def get(self, *path: object, **query: object) -> object:
            asked.append((path, query))
            page = int(str(query["cursor"] or 0))
            more = f"http://paca/?cursor={page + 1}&limit=200" if page < 2 else None
            return {"results": [{"id": page}], "next": more}

    found = asyncio.run(all_rows(Call(Rest(), None), "projects", state="open"))  # type: ignore[arg-type]
    assert found == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert asked[0] == (("projects",), {"limit": 200, "cursor": "", "state": "open"})


def test_list_goes_on_with_its_cursor(caller: McpCaller, world):
    for number in range(3):
        tasks.create(world.project, title=f"Task {number}", by=world.owner)
    first = caller.tool("list_tasks", project=world.project.pk, limit=2)
    second = caller.tool("list_tasks", project=world.project.pk, limit=2, cursor=first["next"])
    titles = [each["title"] for each in first["results"] + second["results"]]
    assert titles == ["Task 2", "Task 1", "Task 0"]
    assert "next" not in second


def test_doc_is_written_and_read_in_parts(caller: McpCaller, world):
    project = world.project.pk
    made = caller.tool("write_doc", project=project, title="Log", text="ab" * 30_000)
    first = caller.tool("get_doc", project=project, doc=made["id"], limit=40_000)
    rest = caller.tool("get_doc", project=project, doc=made["id"], offset=first["next_offset"])
    assert first["text"] + rest["text"] == "ab" * 30_000
    assert first["characters"] == 60_000
    assert "next_offset" not in rest
    listed = caller.tool("list_docs", project=project)
    assert [each["title"] for each in listed["results"]] == ["Log"]
    error = caller.error("write_doc", project=project, doc=made["id"], text="new")
    assert "if_updated_at is needed" in str(error["fields"])
    changed = caller.tool(
        "write_doc",
        project=project,
        doc=made["id"],
        text="new",
        if_updated_at=made["updated_at"],
    )
    assert changed["version"] == made["version"] + 1
    assert Doc.objects.get().text == "new"


def test_key_of_a_call_starts_one_agent(caller: McpCaller, world):
    given = {
        "project": world.project.pk,
        "agent": world.agent.pk,
        "instruction": "Count the boats",
        "idempotency_key": "boats-1",
    }
    first = caller.tool("start_agent", **given)
    assert first["is_working"] is True
    assert "wait_for_agent" in first["next_step"]
    caller.version = NEW
    second = caller.tool("start_agent", **given)
    assert second["conversation"]["id"] == first["conversation"]["id"]
    assert Conversation.objects.count() == 1
    other = caller.error("start_agent", **given | {"instruction": "Count the gulls"})
    assert other["code"] == "idempotency_key_reused"
    caller.tool("start_agent", **given | {"idempotency_key": ""})
    assert Conversation.objects.count() == 2


def test_key_of_a_comment_writes_one(caller: McpCaller, world):
    task = tasks.create(world.project, title="Paint", by=world.owner)
    for _ in range(2):
        caller.tool(
            "add_comment",
            project=world.project.pk,
            task=task.number,
            text="Red",
            idempotency_key="c",
        )
    assert Comment.objects.count() == 1


def test_conversation_is_shown_told_and_stopped(caller: McpCaller, world):
    project = world.project.pk
    task = tasks.create(world.project, title="Paint", by=world.owner)
    started = caller.tool(
        "start_agent",
        project=project,
        agent=world.agent.pk,
        task=f"HARB-{task.number}",
        instruction=" \n",
    )
    conversation = started["conversation"]["id"]
    sent = caller.tool(
        "send_message", project=project, conversation=conversation, text="And the door"
    )
    shown = caller.tool("get_conversation", project=project, conversation=conversation)
    assert shown["events"][-1]["seq"] == sent["message_seq"]
    later = caller.tool(
        "get_conversation",
        project=project,
        conversation=conversation,
        after=sent["message_seq"] - 1,
        events=1,
    )
    assert [each["seq"] for each in later["events"]] == [sent["message_seq"]]
    listed = caller.tool("list_conversations", project=project, task=task.number)
    assert [each["id"] for each in listed["results"]] == [conversation]
    caller.tool("stop_agent", project=project, conversation=conversation)
    ended = caller.tool("wait_for_agent", project=project, conversation=conversation)
    assert ended["conversation"]["status"] == "stopped"
    assert ended["is_working"] is False
    assert caller.tool("list_requests") == []


def test_wait_ends_with_its_time_and_says_how_to_go_on(caller: McpCaller, world):
    project = world.project.pk
    started = caller.tool(
        "start_agent",
        project=project,
        agent=world.agent.pk,
        instruction="Hello",
        wait_seconds=0.1,
    )
    assert started["conversation"]["status"] == "queued"
    assert started["is_working"] is True
    assert "again" in started["next_step"]
