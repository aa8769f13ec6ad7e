"""Looks at background commands in an attached sandbox: which have ended, and what the others have written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import conversation_topic
from paca.common.frames import live_frame
from paca.common.secret_removal import SecretMask
from paca.common.text import to_storable
from paca.conversations.models import BackgroundCommand
from paca.conversations.services import background as services
from paca.engine.tools import background_state as background
from paca.engine.tools.background import read_end
from paca.engine.tools.background_state import BackgroundCommand as Command
from paca.engine.tools.formatting import strip_terminal_codes
from paca.engine.workspace import CallReport, CallUnknown, SandboxWorkspace
from paca.worker.event_masking import masked_facts

SHOWN_CHARACTERS = 2_000  # of the newest output


@dataclass(frozen=True, slots=True)
class Look:
    """What a look has found: the commands that have ended, and how those stand that run on."""

    ended: tuple[events.BackgroundFinished, ...]
    running: tuple[events.BackgroundProgressed, ...]

    def masked(self, mask: SecretMask) -> Look:
        """The look without the secrets in what the commands have written."""
        if not mask:
            return self
        ended = tuple(masked_facts(each, mask) for each in self.ended)
        # The newest output begins and ends anywhere.
        running = tuple(
            replace(each, output=mask.pieces(each.output, from_middle=True))
            for each in self.running
        )
        return Look(ended, running)


async def look(
    workspace: SandboxWorkspace, commands: Sequence[Command], stops: Mapping[str, str]
) -> Look:
    """Look at the commands, and kill those in ``stops``, each with who wants it.

    A command that was killed has ended when this returns, so its end is told once and by its outcome. Those of another
    start of the runner are lost. Raises ``WorkspaceError`` or ``Superseded``.
    """
    mine = [each for each in commands if each.boot_id == workspace.boot_id]
    unwanted = [each.call_id for each in mine if each.call_id in stops]
    await asyncio.gather(*map(workspace.kill, unwanted))
    calls = [each.call_id for each in mine]
    reports = await workspace.look(calls, characters=SHOWN_CHARACTERS) if mine else {}
    # guard: background-command-of-another-start-is-lost
    elsewhere = [each for each in commands if each not in mine]
    ended = list(lost(elsewhere))
    running = []
    for each in mine:
        report = reports.get(each.call_id)
        if report is None or report.ended:
            ended.append(await _end(each, workspace, by=stops.get(each.call_id, "")))
        else:
            running.append(_progress(each, report))
    return Look(tuple(ended), tuple(running))


def lost(commands: Sequence[Command]) -> tuple[events.BackgroundFinished, ...]:
    """The ends of commands whose sandbox has ended."""
    return tuple(background.lost(each.call_id, each.handle, each.command) for each in commands)


async def _end(
    command: Command, workspace: SandboxWorkspace, *, by: str
) -> events.BackgroundFinished:
    try:
        _, event = await read_end(command, workspace, by=by)
    except CallUnknown:  # it was never started: its row is older than the sandbox's state
        return background.lost(command.call_id, command.handle, command.command)
    return event


def _progress(command: Command, report: CallReport) -> events.BackgroundProgressed:
    output = strip_terminal_codes(report.output)[-SHOWN_CHARACTERS:]
    return events.BackgroundProgressed(
        call_id=command.call_id, output=output, seconds=round(report.seconds, 1)
    )


class LiveProgress:
    """Tells viewers what background commands write, and keeps it in their rows, each time that it has changed."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def news(
        self, running: Collection[events.BackgroundProgressed]
    ) -> list[events.BackgroundProgressed]:
        """Those whose output has changed since the last time."""
        changed = [each for each in running if self._shown.get(each.call_id) != each.output]
        self._shown |= {each.call_id: each.output for each in changed}
        return changed

    def forget(self, call_id: str) -> None:
        """Forget a command that has ended."""
        self._shown.pop(call_id, None)


def show(conversation_id: UUID, news: Collection[events.BackgroundProgressed]) -> None:
    """Keep the newest output in the rows, and send it to viewers."""
    for each in news:
        rows = BackgroundCommand.objects.running().filter(
            pk=UUID(each.call_id), conversation=conversation_id
        )
        rows.update(output=to_storable(each.output))
        frame = live_frame(each, at=timezone.now())
        get_bus().live(conversation_topic(conversation_id), frame)


def read_stops(conversation_id: UUID) -> dict[str, str]:
    """The commands of the conversation that are to end, each with the person who wants it; empty for the system."""
    rows = BackgroundCommand.objects.running().filter(conversation=conversation_id)
    wanted = rows.filter(services.unwanted()).order_by()
    return {pk.hex: by for pk, by in wanted.values_list("pk", "stop_by")}
