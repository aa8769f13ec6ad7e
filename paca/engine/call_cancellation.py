"""Cancels the open tool calls of a turn: kills those that run, and gives each a result."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from paca.common.errors import PacaError
from paca.engine import tool_results
from paca.engine.context.history import OpenCall
from paca.engine.tools.formatting import strip_terminal_codes, truncate_middle
from paca.engine.tools.registry import UnknownTool
from paca.engine.turn import ActiveTurn, ToolServices

STOP_SECONDS = 2.0
REATTACH_SECONDS = 10.0  # for a sandbox that another worker has left


async def cancel(
    calls: Sequence[OpenCall], turn: ActiveTurn, services: ToolServices, *, why: str
) -> None:
    """Kill the open calls that run and add a result for each open call; ``why`` begins its text.

    A call that is known to have taken effect gets its own result. This takes two seconds at most, or ten
    if the sandbox must be attached to first.
    """
    calls = [call for call in calls if not await _add_found_result(call, turn, services)]
    started = [call for call in calls if call.boot_id is not None]
    killed = await asyncio.gather(*(_kill(call, turn, services) for call in started))
    outputs = dict(zip((call.call.call_id for call in started), killed, strict=True))
    for call in calls:
        call_id = call.call.call_id
        text = f"{why} {outputs[call_id]}".rstrip() if call_id in outputs else f"Not run. {why}"
        services.log.add(tool_results.failed(call_id, text, cause="cancelled"))


async def _add_found_result(call: OpenCall, turn: ActiveTurn, services: ToolServices) -> bool:
    """Add the result of a call whose worker died between its write and its outcome, if there is one."""
    if call.boot_id is None:
        return False
    try:
        output = await turn.toolbox.get(call.call.tool).find_result(call.call.call_id)
    except UnknownTool:
        return False
    if output is None:
        return False
    services.log.add(
        tool_results.returned(call.call.call_id, output, seconds=0, full_output_bytes=0)
    )
    return True


async def _kill(call: OpenCall, turn: ActiveTurn, services: ToolServices) -> str:
    """Kill the process tree of one call; returns its output so far, in a sentence."""
    if not call.boot_id or not services.sandbox.may_be_running(call.boot_id):
        return ""
    limit = STOP_SECONDS if services.sandbox.is_attached else REATTACH_SECONDS
    try:
        if not turn.toolbox.get(call.call.tool).reattachable:
            return ""
        async with asyncio.timeout(limit):
            workspace = await services.sandbox.workspace()
            if workspace.boot_id != call.boot_id:
                return ""
            await workspace.kill(call.call.call_id)
            outcome = await workspace.attach(call.call.call_id)
    except (PacaError, TimeoutError):
        return ""
    output, _ = truncate_middle(strip_terminal_codes(outcome.output))
    return f"Output until then:\n{output}" if output.strip() else ""
