"""Two projects in two workspaces with an object of every kind, and the principals of the access table."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from django.utils import timezone

from paca import events
from paca.accounts.models import User
from paca.accounts.services import tokens
from paca.agents import services as agents
from paca.agents.models import Agent, Plugin
from paca.agents.services import (
    mcp_servers,
    mcp_tools,
    model_keys,
    personas,
    plugins,
    skills,
    variables,
)
from paca.conversations import full_outputs, store
from paca.conversations import services as conversations
from paca.conversations.memory_lists import MemoryOwner
from paca.conversations.models import BackgroundCommand, PersonRequest
from paca.conversations.services import (
    agent_status,
    check_ins,
    instructions,
    memory_notes,
    suggestions,
)
from paca.engine.mcp.settings import OfferedTool, ServerOffer, ServerState
from paca.projects import permissions
from paca.projects.models import Member, Notification, Project
from paca.projects.services import (
    attachments,
    comments,
    doc_folders,
    docs,
    invitations,
    members,
    projects,
    roles,
    sprints,
    tasks,
    workspaces,
)
from tests.support.api import Api
from tests.support.repositories import make_connection, make_repository


@dataclass(frozen=True)
class ProjectObjects:
    """A project; ``ids`` has the id of an existing object for each path parameter."""

    owner: User
    project: Project
    ids: dict[str, UUID | int]


@dataclass(frozen=True)
class TwoProjects:
    """Project A, which all requests are for, project B of another owner, and a client per principal."""

    a: ProjectObjects
    b: ProjectObjects
    principals: dict[str, Api]


def make_two_projects() -> TwoProjects:
    """Make the projects, their objects and the principals."""
    a, b = make_project("owner"), make_project("stranger")
    outsider = _person("outsider")
    workspaces.add_person(a.project.workspace, user=outsider)
    principals = {
        "nobody": Api(),
        "outsider": Api(outsider),
        "owner": Api(a.owner),
        "stranger": Api(b.owner),
        "scoped": Api.by_token(a.owner, "agents:read"),
        "revoked": _revoked(a.owner),
        "root": Api(User.objects.create_superuser("root", password="a long password 7")),
    }
    for name in (permissions.VIEWER, permissions.MEMBER, permissions.MANAGER):
        principals[name.lower()] = Api(_member(a.project, name))
    return TwoProjects(a, b, principals)


def make_project(owner_name: str) -> ProjectObjects:
    """A new project in a new workspace of a new person of this name, with an object of every kind."""
    owner = _person(owner_name)
    workspace = workspaces.create(f"Workspace of {owner_name}", owner=owner)
    project = projects.create(workspace, f"Project of {owner_name}", by=owner)
    me = project.members.get(user=owner)
    role = project.roles.get(name=permissions.MEMBER)
    agent = agents.create(
        project,
        name="Rosa",
        handle="rosa",
        model="demo/guide",
        role=project.roles.get(name=permissions.AGENT),
        by=me,
    )
    colleague = _person(f"colleague-of-{owner_name}")
    entry = workspaces.add_person(workspace, user=colleague)
    spare = roles.create(project, name="Spare", permissions=["agents:read"], by=me)
    chat = conversations.start_chat(agent, text="Hello", by=me)
    assert chat.session_id is not None
    ids = {
        "project": project.pk,
        "workspace_id": workspace.pk,
        "own_key_id": model_keys.store(
            provider="groq", key="gsk-of-the-owner-1", user=owner, by=owner
        ).pk,
        "key_id": model_keys.store(
            provider="groq", key="gsk-of-the-project", project=project, by=owner
        ).pk,
        "project_variable_id": variables.store(
            project, name="PLACE", value="of the project", by=me
        ).pk,
        "agent_variable_id": variables.store(agent, name="PLACE", value="of the agent", by=me).pk,
        "token_id": tokens.create(owner, name="spare", by=owner)[0].pk,
        "member_id": members.add_person(project, user=colleague, role=role, by=me).pk,
        "entry_id": entry.pk,
        "invitation_id": invitations.create(workspace, by=owner, role=role)[0].pk,
        "role_id": spare.pk,
        "agent_id": agent.pk,
        "skill_id": skills.create_from_template(agent, "ba", by=me).pk,
        "server_id": _make_mcp_server(agent, me),
        "persona_id": personas.create(project, name="Secret", text="A secret", by=me).pk,
        "plugin_id": str(_make_disabled_plugin(project, me).pk),
        "check_in_id": check_ins.create(
            agent, name="Secret", prompt="A secret", every_minutes=60, by=me
        ).pk,
        **_link_repository(project),
        **_noted(project, agent, chat.conversation_id),
        "conversation_id": chat.conversation_id,
        "session_id": chat.session_id,
        "event_seq": chat.event_seq,
        **_make_tasks(me, agent),
        **_make_talk(me, agent.member),
        "call_id": _call_with_a_kept_output(chat.conversation_id),
        **_ended_requests(chat.conversation_id),
    }
    agent_status.plan(agent, status="paused", mode="graceful", at=tomorrow(), by=me)
    return ProjectObjects(owner, project, ids)


def _link_repository(project: Project) -> dict[str, UUID | int]:
    """A repository on a server that does not exist, and a connection that no repository uses."""
    unused = make_connection(project, base_url="https://git.example.org", name="Unused")
    repository = make_repository(project, "secret")
    return {"connection_id": unused.pk, "repository_id": repository.pk}


def _make_disabled_plugin(project: Project, me: Member) -> Plugin:
    """A plugin that can be deleted."""
    made = plugins.create(project, name="Secret", by=me)
    plugins.disable(made, by=me)
    return made


def _make_mcp_server(agent: Agent, me: Member) -> UUID:
    """An MCP server with a tool."""
    server = mcp_servers.create(
        agent, name="secret", transport="stdio", command="a", env={"KEY": "a secret"}, by=me
    )
    offer = ServerOffer((OfferedTool("log", "A secret", {}),))
    mcp_tools.report(agent.pk, server.pk, state=ServerState.AVAILABLE, offer=offer)
    return server.pk


def tomorrow() -> str:
    """The time in a day, in ISO form."""
    return (timezone.now() + timedelta(days=1)).isoformat()


def _noted(project: Project, agent: Agent, conversation_id: UUID) -> dict[str, UUID | int]:
    """A waiting entry of the project's memory and one of the agent's."""
    owners = {"memory_id": MemoryOwner(project), "agent_memory_id": MemoryOwner(project, agent)}
    for owner in owners.values():
        memory_notes.note(owner, text="A secret.", by=agent.member, conversation_id=conversation_id)
    return {name: owner.entries.get().pk for name, owner in owners.items()}


def _make_tasks(me: Member, agent: Agent) -> dict[str, UUID | int]:
    """A task with a file, its status and type, a suggestion, and a sprint. Its number is none of the other project."""
    numbers_before = 0 if me.handle == "owner" else 40
    Project.objects.filter(pk=me.project_id).update(last_task_number=numbers_before)
    task = tasks.create(me.project, title="Secret", by=me)
    file = attachments.add(task, name="a.txt", content_type="", data=[b"a secret"], by=me)
    written = instructions.write_description(agent, task, by=me)
    suggestions.store(written, task, "It fails with umlauts.", turn=1)
    return {
        "number": task.number,
        "attachment_id": file.pk,
        "status_id": task.status_id,
        "type_id": task.type_id,
        "sprint_id": sprints.create(me.project, name="June", by=me).pk,
    }


def _make_talk(me: Member, agent: Member) -> dict[str, UUID | int]:
    """A doc in a folder, comments, and a notification. The newest version is none of the other project."""
    task = me.project.tasks.get()
    folder = doc_folders.create(me.project, name="Secrets", by=me)
    doc = docs.create(me.project, title="Secret", folder=folder, by=me)
    for text in () if me.handle == "owner" else ("more", "most"):
        docs.change(doc, text=text, by=me)
    mention = comments.add(task, text=f"A secret for @{me.handle}", by=agent)
    return {
        "doc_id": doc.pk,
        "version": doc.version,
        "folder_id": folder.pk,
        "comment_id": comments.add(task, text="A secret", by=me).pk,
        "doc_comment_id": comments.add(doc, text="A secret", by=me).pk,
        "notification_id": Notification.objects.get(comment=mention).pk,
    }


def _call_with_a_kept_output(conversation_id: UUID) -> UUID:
    call = uuid4()
    called = events.ToolCalled(call_id=str(call), tool="bash", arguments={}, subject="")
    store.append(conversation_id, called)
    full_outputs.begin(call)
    full_outputs.add_part(call, 0, b"a secret of this project")
    full_outputs.finish(call, size_bytes=24)
    PersonRequest.objects.create(
        conversation_id=conversation_id,
        call_id=call.hex,
        turn=1,
        tool="bash",
        arguments={"command": "a secret command"},
        rule="delete_files",
        effect="opaque",
        deadline=timezone.now() + timedelta(hours=1),
    )
    BackgroundCommand.objects.create(
        id=call,
        conversation_id=conversation_id,
        handle="bg1",
        command="a secret command",
        look_at=timezone.now(),
        started_at=timezone.now(),
        deadline_at=timezone.now() + timedelta(hours=1),
    )
    return call


def _ended_requests(conversation_id: UUID) -> dict[str, UUID]:
    """A question and a plan whose time has run out."""
    asked = {"question": "A secret?", "choices": []}
    proposed = {"title": "A secret", "steps": ["A secret step"]}
    ids = {}
    for kind, arguments in (("question", asked), ("plan", proposed)):
        call = ids[f"{kind}_id"] = uuid4()
        PersonRequest.objects.create(
            conversation_id=conversation_id,
            kind=kind,
            call_id=call.hex,
            turn=1,
            tool=kind,
            arguments=arguments,
            deadline=timezone.now(),
            state="expired",
            decided_at=timezone.now(),
        )
    return ids


def _person(name: str) -> User:
    return User.objects.create_user(name, password="a long password 7")


def _member(project: Project, role_name: str) -> User:
    user = _person(role_name.lower())
    workspaces.add_person(project.workspace, user=user)
    role = project.roles.get(name=role_name)
    members.add_person(project, user=user, role=role, by=user)
    return user


def _revoked(user: User) -> Api:
    token, secret = tokens.create(user, name="lost", by=user)
    tokens.revoke(token, by=user)
    return Api(token=secret)
