"""The arguments and variables of a command, as the kernel takes them."""

from __future__ import annotations

from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.spawn import MAX_ARGUMENT_BYTES, MAX_SCRIPT_BYTES, READ_SCRIPT, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _encode(text: str) -> bytes:
    if "\0" in text:
        raise RequestError("workspace_error", "A command cannot contain NUL.")
    return text.encode("utf-8", "surrogatepass")


def encode_all(variables: dict[str, str]) -> dict[bytes, bytes]:
    """Variables of an environment as bytes. Raises ``RequestError`` if one contains NUL."""
    return {_encode(name): _encode(value) for name, value in variables.items()}


def argv_of(message: dict[str, Any]) -> tuple[list[bytes], bytes | None]:
    """The argument vector, and the script that it reads from ``SCRIPT_FD`` if the command is a long one.

    Raises ``RequestError`` if no process can be given this command.
    """
    shell, argv = message.get("shell"), message.get("argv")
    script = None
    if shell is not None and len(encoded := _encode(shell)) > MAX_ARGUMENT_BYTES:
        script, shell = encoded, READ_SCRIPT
    found = [_encode(word) for word in ([SHELL, "-c", shell] if shell is not None else argv or ())]
    if not found:
        raise RequestError("workspace_error", "The command is empty.")
    if max(len(word) for word in found) > MAX_ARGUMENT_BYTES:
        raise RequestError("workspace_error", "An argument of the command is longer than 128 KiB.")
    if script is not None and len(script) > MAX_SCRIPT_BYTES:
        raise RequestError(
            "workspace_error", "The command is longer than 1 MiB; write it to a file and run that."
        )
    return found, script
