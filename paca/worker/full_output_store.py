"""Keeps the full outputs of a conversation's calls, read from the sandbox while it runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from django.conf import settings

from paca.common.best_effort import tolerated
from paca.common.secret_removal import SecretByteStream, SecretMask
from paca.conversations import full_outputs
from paca.engine.workspace import SandboxWorkspace, WorkspaceError
from paca.worker.database import Database
from paca.worker.event_masking import NO_SECRETS

logger = logging.getLogger(__name__)
KEEP_SECONDS = 60.0


class FullOutputStore:
    """Implements ``engine.turn.OutputStore``. A failure costs the download, never the turn.

    If the worker dies before the end, the output counts as not kept; the worker that takes over the
    call begins again.
    """

    def __init__(self, database: Database, mask: SecretMask = NO_SECRETS) -> None:
        self._database, self._mask = database, mask

    async def keep(
        self, call_id: str, path: str, open_workspace: Callable[[], Awaitable[SandboxWorkspace]]
    ) -> int:
        """Store the file of a call's output; gives its size in bytes, or 0 if it is not kept."""
        if not settings.CONVERSATION_OUTPUT_MIB:
            return 0
        with tolerated("full output"):
            try:
                async with asyncio.timeout(KEEP_SECONDS):
                    return await self._copy(UUID(call_id), path, await open_workspace())
            except (WorkspaceError, TimeoutError) as error:
                logger.info("full output not kept", extra={"call": call_id, "cause": str(error)})
        return 0

    async def _copy(self, call_id: UUID, path: str, workspace: SandboxWorkspace) -> int:
        call = self._database.call
        await call(full_outputs.begin, call_id)
        read = size = number = 0
        stream = SecretByteStream(self._mask)
        while read < full_outputs.MAX_BYTES and (
            data := await workspace.read(path, offset=read, limit=full_outputs.PART_BYTES)
        ):
            read += len(data)
            # guard: full-outputs-hold-no-secret
            data = await call(stream.feed, data)
            if data:
                await call(full_outputs.add_part, call_id, number, data)
                size, number = size + len(data), number + 1
        if rest := stream.close():
            await call(full_outputs.add_part, call_id, number, rest)
            size += len(rest)
        is_kept = await call(full_outputs.finish, call_id, size_bytes=size)
        return size if is_kept else 0
