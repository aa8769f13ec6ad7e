"""Clones repositories into a new sandbox before the first turn of its conversation, where their setting says so."""

from __future__ import annotations

import functools
import json
import uuid
from uuid import UUID

from paca import events
from paca.common.errors import PacaError
from paca.conversations.models import Event
from paca.engine.approvals.policy import asks_before_script
from paca.engine.tools import repository_commands as commands
from paca.engine.tools.base import RepositorySetup, ToolContext, ToolOutput
from paca.engine.tools.repositories import LinkedRepository, clone
from paca.engine.workspace import SandboxBroken, Superseded
from paca.repositories import routing
from paca.worker.assembly import AssembledTurn
from paca.worker.database import Database
from paca.worker.repository_access import RunRepositoryAccess
from paca.worker.run_log import RunLog
from paca.worker.sandboxes.run_sandbox import RunSandbox

TYPES = ("agent.repository.cloned", "agent.repository.unavailable")


async def clone_at_start(
    turn: AssembledTurn,
    access: RunRepositoryAccess,
    log: RunLog,
    sandbox: RunSandbox,
    database: Database,
) -> None:
    """Clone each repository that is cloned at the start, and tell what became of it, once for each conversation.

    A worker that takes over finds the clone, or waits for it: the runner knows it by its id. Raises ``Fenced``,
    ``Superseded``, ``SandboxBroken`` and database errors; every other failure is told and ends nothing.
    """
    if turn.read_only or turn.sandbox.session:  # a helper finds what the conversation has cloned
        return
    wanted = [each for each in turn.repositories if each.clone_at_start]
    if not wanted:
        return
    told = await database.call(_told, log.lease.conversation_id)
    for repository in wanted:
        if str(repository.pk) not in told:
            linked = routing.linked(repository)
            output = await _clone(linked, access, log, sandbox, _setup_of(turn))
            found = output.events or (_unavailable(linked, output.output),)
            await log.commit(*found)


def _setup_of(turn: AssembledTurn) -> RepositorySetup:
    asks = functools.partial(
        asks_before_script, turn.profile.approval, turn.profile.allowed_commands
    )
    return RepositorySetup(turn.profile.repository_setup, asks)


async def _clone(
    repository: LinkedRepository,
    access: RunRepositoryAccess,
    log: RunLog,
    sandbox: RunSandbox,
    setup: RepositorySetup,
) -> ToolOutput:
    call_id = uuid.uuid5(log.lease.conversation_id, f"clone {repository.id}").hex
    context = ToolContext(call_id, sandbox.workspace, repository_setup=setup)
    wanted = commands.Clone(repository.name, repository.url, repository.inside)
    try:
        await access.find(repository.name)
        return await clone(wanted, repository, context, at_start=True)
    except (Superseded, SandboxBroken):
        raise
    except PacaError as error:
        return ToolOutput(error.detail, failed=True)


def _unavailable(repository: LinkedRepository, problem: str) -> events.RepositoryUnavailable:
    return events.RepositoryUnavailable(
        repository_id=repository.id, repository=repository.name, problem=problem[:2000]
    )


def _told(conversation_id: UUID) -> set[str]:
    """The repositories of which the log tells how their clone went."""
    found = Event.objects.filter(conversation=conversation_id, type__in=TYPES)
    payloads = found.exclude(payload="").values_list("payload", flat=True)
    return {str(json.loads(payload).get("repository_id")) for payload in payloads}
