"""The events that hold the results of tool calls."""

from __future__ import annotations

import base64

from paca import events
from paca.engine.tools.base import ToolOutput

UNKNOWN_OUTCOME = (
    "Outcome unknown: the {lost} was lost while this ran. {cause}It was not run again. "
    "Check the state before you repeat it."
)


def returned(
    call_id: str, output: ToolOutput, *, seconds: float, full_output_bytes: int
) -> events.ToolReturned:
    """The result of a call with the output of its tool. ``seconds`` is how long it ran."""
    return events.ToolReturned(
        call_id=call_id,
        output=output.output,
        failed=output.failed,
        exit_code=output.exit_code,
        seconds=round(seconds, 3),
        truncated=output.truncated,
        file=output.file,
        cause=output.cause,
        full_output_bytes=full_output_bytes,
        images=[
            {"kind": image.kind, "data": base64.b64encode(image.data).decode("ascii")}
            for image in output.images
        ],
    )


def failed(call_id: str, text: str, *, cause: str) -> events.ToolReturned:
    """The result of a call that failed, or was not run, with the code of its cause."""
    return events.ToolReturned(call_id=call_id, output=text, failed=True, cause=cause)


def unknown(
    call_id: str, exit_sentence: str, *, in_sandbox: bool = True
) -> events.ToolOutcomeUnknown:
    """The result of a call whose sandbox was lost, or whose worker if it did not run in the sandbox.

    ``exit_sentence`` says why, as far as is known.
    """
    cause = f"{exit_sentence} " if exit_sentence else ""
    lost = "sandbox" if in_sandbox else "worker"
    text = UNKNOWN_OUTCOME.format(lost=lost, cause=cause)
    return events.ToolOutcomeUnknown(call_id=call_id, output=text, reason=f"{lost}_lost")
