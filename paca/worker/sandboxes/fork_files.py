"""Copies the files of a fork's origin before the fork's sandbox is opened for the first time."""

from __future__ import annotations

from dataclasses import asdict, replace

from django.utils import timezone

from paca import events
from paca.conversations import forked_files
from paca.conversations.forked_files import Origin
from paca.engine.workspace import SandboxUnavailable, SandboxUnreachable
from paca.sandbox import start_phases
from paca.sandbox.base import CopiedFiles, FilesOrigin, MayReplace, SandboxSpec
from paca.sandbox.file_copy import CopyFailed
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.run_log import RunLog

OTHER_BACKEND = (
    "the files of the other conversation are in a sandbox made with {}, which this server cannot use now; an"
    " administrator can set PACA_SANDBOX=auto, then fork it again"
)


async def copy_files(
    spec: SandboxSpec,
    *,
    manager: SandboxManager,
    log: RunLog,
    database: Database,
    may_replace: MayReplace,
) -> SandboxSpec:
    """Copy the files and record it; gives the spec with the backend that stores them now.

    The copy counts from the moment that the log tells of it. If the worker dies before, the next one makes it
    again from the beginning. If it fails, the log says why, and the sandbox begins empty.

    Raises ``SandboxUnavailable`` if commands cannot run here, and the files are then still to be copied;
    ``SandboxUnreachable`` if the backend may answer later, ``Superseded`` and ``Fenced``.
    """
    start_phases.enter("copy")
    origin = await database.call(forked_files.find_origin, spec.conversation_id)
    try:
        copied = await _copy(origin, spec, manager=manager, log=log, may_replace=may_replace)
    except CopyFailed as error:
        failed = events.SandboxFilesCopied(
            conversation_id=str(origin.conversation_id), error=error.detail.rstrip(".")
        )
        await log.commit(replace(failed, told=forked_files.in_words(failed)))
        return spec
    since = await database.call(forked_files.commands_since, origin)
    told = events.SandboxFilesCopied(
        conversation_id=str(origin.conversation_id),
        backend=origin.backend,
        copied_at=timezone.now().isoformat(timespec="seconds"),
        commands_since=since,
        **asdict(copied),
    )
    await log.commit(replace(told, told=forked_files.in_words(told)))
    return replace(spec, files_backend=origin.backend)


async def _copy(
    origin: Origin,
    spec: SandboxSpec,
    *,
    manager: SandboxManager,
    log: RunLog,
    may_replace: MayReplace,
) -> CopiedFiles:
    if origin.missing:
        raise CopyFailed(origin.missing)
    try:
        backend = await manager.choose_backend(origin.backend)
    except SandboxUnreachable:
        raise
    except SandboxUnavailable:
        await manager.choose_backend()  # raises if no command can run here at all
        raise CopyFailed(OTHER_BACKEND.format(origin.backend)) from None
    source = FilesOrigin(origin.conversation_id, origin.volume)
    return await backend.copy_files(spec, source, epoch=log.lease.epoch, may_replace=may_replace)
