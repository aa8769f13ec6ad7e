"""An agent clones a repository of its project, works, and pushes a branch; credentials stay outside of its sandbox."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paca.agents import encryption
from paca.agents import services as agents
from paca.conversations.models import Conversation, ConversationBranch, Event
from paca.conversations.services import approvals
from paca.projects.models import Project
from paca.projects.services import projects
from paca.repositories.models import GitConnection, Repository
from paca.sandbox.egress.repositories import broker_folder
from paca.sandbox.manager import DockerAddress
from tests.sandbox.egress.test_gates import pid_of
from tests.support import docker_backend
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.git_server import HEADER, TOKEN, GitServer, git
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def flow(
    transactional_db: None, tmp_path_factory: pytest.TempPathFactory, request: Any
) -> Iterator[Flow]:
    if request.param == "docker":
        docker_backend.skip_without()
    address = DockerAddress(image=docker_backend.IMAGE)
    with Flow(tmp_path_factory.mktemp("data"), sandbox=request.param, docker=address) as found:
        yield found
    manager = found.sandboxes()
    for conversation_id in Conversation.objects.values_list("pk", flat=True):
        asyncio.run(manager.remove(conversation_id))
    for root in (manager.gates.root, broker_folder(manager.gates.root)):
        if (root / "lock").exists() and (pid := pid_of(root)):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def server(tmp_path: Path, settings: Any) -> Iterator[GitServer]:
    with GitServer(tmp_path / "server") as server:
        settings.PRIVATE_GIT_SERVERS = [f"127.0.0.1:{server.port}"]
        server.create("shop")
        yield server


def link(project: Project, server: GitServer, name: str = "shop", **fields: Any) -> Repository:
    connection, _ = GitConnection.objects.get_or_create(
        project=project,
        name="git",
        defaults={
            "kind": "git",
            "base_url": server.address,
            "auth": "basic",
            "username": "git",
            "encrypted_secret": encryption.encrypt(TOKEN),
        },
    )
    return Repository.objects.create(
        project=project,
        connection=connection,
        name=name,
        url=server.url(name),
        default_branch="main",
        **fields,
    )


WORK = (
    "cd shop && git checkout -q -b totals && echo 1 > totals.txt && git add . && git commit -qm Totals"
    " && git rev-parse HEAD"
)


def push_with_approval(flow: Flow, found: ObservedConversation, push: dict[str, str]) -> None:
    """Push, and approve what the person is shown: exactly this repository, branch and commit."""
    flow.model.script([calls(push_branch=push), says("ok")])
    flow.send(found, "Push")
    wait_until(lambda: found.status == "waiting/approval")
    request = found.event_data("approval.requested")[-1]
    assert request["arguments"] == push
    approvals.decide(found.row, call_id=request["call_id"], decision="approve", by=flow.world.owner)
    flow.wait_until_idle(found)


def test_an_agent_clones_works_and_pushes(flow: Flow, server: GitServer) -> None:
    link(flow.world.project, server)
    found = flow.ask(
        "Begin", [calls(clone_repository={"name": "shop"}), calls(bash=WORK), says("ok")]
    )
    assert "shop is cloned: /workspace/shop, branch main" in found.outputs[0], found.outputs
    commit = found.outputs[1].split()[0]
    push = {"repository": "shop", "branch": "totals", "commit": commit}
    push_with_approval(flow, found, push)
    push_with_approval(flow, found, push)
    assert "totals of shop is at" in found.outputs[2], found.outputs
    assert "It was there already" in found.outputs[3]
    assert server.refs("shop")["refs/heads/totals"] == commit
    bare = str(server.root / "shop.git")
    author = git("-C", bare, "log", "-1", "--format=%an <%ae>", commit)
    assert author == f"{flow.world.agent.git_name} <{flow.world.agent.git_email}>"
    branch = ConversationBranch.objects.get(conversation=found.id, branch="totals")
    assert branch.pushed == commit
    assert {headers.get("authorization") for _, _, headers in server.requests} == {HEADER}


SEARCH = (
    "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' > /tmp/all; env >> /tmp/all;"
    " cat shop/.git/config ~/.gitconfig ~/.git-credentials >> /tmp/all 2>/dev/null;"
    " (grep -c -e {0} -e {1} /tmp/all; grep -rl -e {0} -e {1} /workspace /tmp /run /home | grep -v /tmp/all); echo end"
)


def test_the_token_is_nowhere_in_the_sandbox_and_in_no_event(flow: Flow, server: GitServer) -> None:
    link(flow.world.project, server)
    half, value = TOKEN[:4] + "[.]?" + TOKEN[4:], HEADER.split()[1]
    # Written so that the search does not find itself.
    search = SEARCH.format(f"'{half}'", f"'{value[:4]}[{value[4]}]{value[5:]}'")
    found = flow.ask(
        "Begin",
        [
            calls(clone_repository={"name": "shop"}),
            calls(
                bash="cd shop && GIT_TRACE=1 GIT_CURL_VERBOSE=1 git fetch 2>&1; git config remote.origin.url"
            ),
            calls(bash=search),
            says("ok"),
        ],
    )
    assert f"{server.address}/shop.git" in found.outputs[1]
    assert found.outputs[2].split()[:2] == ["0", "end"]
    told = "".join(str(row) for row in Event.objects.values_list("payload", flat=True))
    told += "".join(str(request.body) for request in flow.model.requests)
    assert TOKEN not in told
    assert value not in told
    logged = [path.read_bytes() for path in flow.folder.rglob("log") if path.is_file()]
    assert not any(TOKEN.encode() in data or value.encode() in data for data in logged)


def test_a_repository_is_cloned_before_the_first_turn(flow: Flow, server: GitServer) -> None:
    link(flow.world.project, server, clone_at_start=True)
    link(flow.world.project, server, "gone", clone_at_start=True)
    found = flow.ask("Begin", [calls(bash="cat shop/README.md"), says("ok")])
    assert found.outputs[0].startswith("hello")
    assert [each["repository"] for each in found.event_data("repository.cloned")] == ["shop"]
    [failed] = found.event_data("repository.unavailable")
    assert failed["repository"] == "gone"
    assert "does not know gone" in failed["problem"]
    assert found.event_types.index("repository.cloned") < found.event_types.index("tool.started")
    flow.ask("Again", [says("ok")], after=found)
    assert len(found.event_data("repository.unavailable")) == 1
    assert found.answers == ["ok", "ok"]


def test_without_a_linked_repository_there_are_no_tools_for_it(flow: Flow) -> None:
    flow.ask("Begin", [says("ok")])
    assert "clone_repository" not in str(flow.model.requests[-1].body)


def test_a_clone_shows_agents_md_and_runs_the_setup_script(flow: Flow, server: GitServer) -> None:
    """One repository is cloned by the agent, the other before its first turn."""
    for name in ("boats", "kit"):
        files = {"AGENTS.md": f"Notes of {name}.", ".paca/setup.sh": f"echo {name} is set up"}
        server.create(name, {path: text.encode() for path, text in files.items()})
    project, by = flow.world.project, flow.world.owner
    projects.change(project, by=by, repository_setup=True)
    agents.configure(flow.world.agent, by=by, approval="auto")
    link(project, server, "boats")
    link(project, server, "kit", clone_at_start=True)
    found = flow.ask(
        "Begin", [calls(bash="ls -A kit"), calls(clone_repository={"name": "boats"}), says("ok")]
    )
    assert found.outputs[1].endswith("Its output:\nboats is set up")
    shown = found.event_data("instructions.read")
    assert [(each["path"], each["text"]) for each in shown] == [
        ("kit/AGENTS.md", "Notes of kit."),
        ("boats/AGENTS.md", "Notes of boats."),
    ]
    first, last = (str(each.body) for each in (flow.model.requests[0], flow.model.requests[-1]))
    assert "kit is set up" in first
    assert "boats is set up" in last
    assert_replay_matches(found)
