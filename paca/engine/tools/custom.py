"""Makes a tool of a class from an installed package, and refuses a class that is not what it should be."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
import traceback
import types
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from paca.common.text import to_storable
from paca.engine.tools import handler_threads
from paca.engine.tools.base import Effect, Tool, ToolContext, ToolOutput
from paca.engine.tools.formatting import (
    format_seconds,
    strip_terminal_codes,
    to_one_line,
    truncate_middle,
)
from paca.engine.tools.handler_threads import HandlerOutcome, TooManyHandlers
from paca.engine.tools.registry import BadArguments
from paca.engine.tools.schema import argument_schema
from paca.engine.workspace import OnOutput

logger = logging.getLogger(__name__)

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
RESERVED_PREFIX = "mcp__"  # the tools of MCP servers
MAX_DESCRIPTION_CHARACTERS = 4_000
MAX_SCHEMA_CHARACTERS = 16_000
MAX_TIMEOUT_SECONDS = 3_600
DEFAULT_TIMEOUT_SECONDS = 30


class BadTool(ValueError):
    """The class is no tool; the text says what to change."""


class CallFailed(Exception):
    """A handler says that the call failed, in words for the model."""


class CustomCall:
    """What a handler is told of its call. ``id`` is the same if the call is repeated after a crash."""

    def __init__(self, call_id: str, on_output: OnOutput | None) -> None:
        self.id = call_id
        self._on_output, self._loop = on_output, asyncio.get_running_loop()
        self._ended = False

    def show(self, text: str) -> None:
        """Show people this text while the call runs. The model does not get it."""
        with suppress(RuntimeError):  # the worker has ended
            self._loop.call_soon_threadsafe(self._show, to_storable(str(text)))

    def failed(self, text: str) -> Exception:
        """An error to raise: ``raise call.failed("There is no such ticket.")``; the model reads the text."""
        return CallFailed(text)

    def _show(self, text: str) -> None:
        if self._on_output is not None and not self._ended:
            self._on_output(text)

    def end(self) -> None:
        """Show nothing more: a handler may run on after its time limit."""
        self._ended = True


class _CheckedArguments(BaseModel):
    """Arguments whose own checks may fail in any way: the model then reads that they do not fit."""

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        try:
            return super().model_validate(obj, **options)
        except ValidationError:
            raise
        except Exception as error:  # noqa: BLE001 - a check of the package must not end the turn
            text = (
                f"The tool did not run: it cannot check these arguments ({type(error).__name__})."
            )
            raise BadArguments(text) from None


class CustomTool(Tool[Any]):
    """The base of the tools that ``make_tool`` makes; the docstring of each is its description."""

    uses_workspace = False
    handler: ClassVar[Callable[[], Any]]
    declared_safe: ClassVar[bool]

    @property
    def safe(self) -> bool:
        return self.declared_safe and super().safe

    def subject(self, arguments: Any) -> str:
        """The first text or number among the arguments."""
        values = (value for _name, value in arguments)
        shown = (str(value) for value in values if isinstance(value, str | int | float))
        return to_one_line(to_storable(next(shown, "")))

    async def act(self, arguments: Any, context: ToolContext) -> ToolOutput:
        call = CustomCall(context.call_id, context.on_output)
        new_handler = type(self).handler
        try:
            async with asyncio.timeout(self.timeout_seconds):
                outcome = await handler_threads.run(lambda: new_handler().handle(arguments, call))
        except TimeoutError:
            return self._timed_out()
        except TooManyHandlers:
            text = f"{self.name} did not run: too many calls of such tools run. Try again later."
            return ToolOutput(text, failed=True, cause="refused")
        finally:
            call.end()
        return self._output(outcome)

    def _timed_out(self) -> ToolOutput:
        text = f"{self.name} gave no answer within {format_seconds(self.timeout_seconds)}."
        # guard: custom-tools-timeout-tells-the-truth
        if self.effect is not Effect.READ_ONLY:
            text += " It may have had its effect, or may still have it: check before you repeat it."
        return ToolOutput(text, failed=True, cause="timed_out")

    def _output(self, outcome: HandlerOutcome) -> ToolOutput:
        if isinstance(outcome.error, CallFailed):
            return _shortened(str(outcome.error) or "The call failed.", failed=True)
        if outcome.error is not None:
            return self._broken(outcome.error)
        try:
            text = _text_of(outcome.value)
        except (TypeError, ValueError, RecursionError):
            text = f"The tool failed: its answer is no text ({type(outcome.value).__name__})."
            return ToolOutput(text, failed=True, cause="failed")
        return _shortened(text)

    def _broken(self, error: BaseException) -> ToolOutput:
        """The text of an error may hold secrets of the package: neither the model nor the log gets it."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        logger.error(
            "a custom tool failed",
            extra={
                "tool": self.name,
                "package": self.package,
                "error": type(error).__name__,
                "place": place,
            },
        )
        return ToolOutput(f"The tool failed: {type(error).__name__}.", failed=True, cause="failed")


def _text_of(value: Any) -> str:
    """A text as it is, nothing as ``Done.``, and anything else as JSON. Raises like ``json.dumps``."""
    if isinstance(value, str):
        return value
    return "Done." if value is None else json.dumps(value, ensure_ascii=False)


def _shortened(text: str, *, failed: bool = False) -> ToolOutput:
    # guard: custom-tools-output-is-bounded
    shown, truncated = truncate_middle(strip_terminal_codes(to_storable(text)))
    return ToolOutput(shown, failed=failed, truncated=truncated)


# --- from a class to a tool -------------------------------------------------------------------------


def make_tool(handler: Any, *, package: str) -> CustomTool:
    """The tool of the class ``handler`` from the package of this name. Raises ``BadTool``."""
    if not isinstance(handler, type) or not callable(getattr(handler, "handle", None)):
        raise BadTool("it is no class with a method handle(arguments, call)")
    name, effect = _name(handler), _effect(handler)
    arguments = _arguments(handler)
    facts = {
        "__doc__": _description(handler),
        "name": name,
        "effect": effect,
        "declared_safe": _safe(handler, effect),
        "timeout_seconds": _timeout_seconds(handler),
        "takes_command": _takes_command(handler, arguments),
        "Arguments": arguments,
        "handler": handler,
        "package": package,
    }
    made: CustomTool = type(handler.__name__, (CustomTool,), facts)()
    return made


def _name(handler: type) -> str:
    name = getattr(handler, "name", None)
    if not isinstance(name, str) or not NAME.fullmatch(name) or name.startswith(RESERVED_PREFIX):
        raise BadTool(
            "name must be 1 to 64 small letters, digits and _, begin with a letter, and not with mcp__"
        )
    return name


def _description(handler: type) -> str:
    given = getattr(handler, "description", None) or inspect.getdoc(handler)
    if not isinstance(given, str) or not given.strip():
        raise BadTool("description is missing: the model chooses the tool by it")
    if len(given) > MAX_DESCRIPTION_CHARACTERS:
        raise BadTool(f"description is longer than {MAX_DESCRIPTION_CHARACTERS:,} characters")
    return to_storable(given)


def _effect(handler: type) -> Effect:
    try:
        return Effect(getattr(handler, "effect", ""))
    except ValueError:
        raise BadTool(f"effect must be one of {', '.join(Effect)}") from None


def _safe(handler: type, effect: Effect) -> bool:
    safe = getattr(handler, "safe", effect is not Effect.OPAQUE)
    if not isinstance(safe, bool):
        raise BadTool("safe must be True or False")
    # guard: custom-tools-opaque-is-never-safe
    if safe and effect is Effect.OPAQUE:
        raise BadTool("safe cannot be True for a tool with the effect opaque")
    return safe


def _timeout_seconds(handler: type) -> float:
    seconds = getattr(handler, "timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise BadTool(
            f"timeout_seconds must be a number above 0 and at most {MAX_TIMEOUT_SECONDS:,}"
        )
    return float(seconds)


def _takes_command(handler: type, arguments: type[BaseModel]) -> bool:
    if getattr(handler, "takes_command", False) is not True:
        return False
    command = arguments.model_fields.get("command")
    if command is None or command.annotation is not str:
        raise BadTool("takes_command needs an argument command that is a text")
    return True


def _arguments(handler: type) -> type[BaseModel]:
    """The model of the arguments, which takes no other field. Raises ``BadTool``."""
    given = getattr(handler, "Arguments", BaseModel)
    if (
        not isinstance(given, type)
        or not issubclass(given, BaseModel)
        or issubclass(given, RootModel)
    ):
        raise BadTool("Arguments must be a class based on pydantic.BaseModel")
    closed = {"model_config": ConfigDict(extra="forbid"), "__module__": given.__module__}
    model: type[BaseModel] = types.new_class(
        "Arguments", (_CheckedArguments, given), exec_body=lambda body: body.update(closed)
    )
    try:
        schema = argument_schema(model)
        text = json.dumps(schema)
    except RecursionError:
        raise BadTool("Arguments must not contain itself") from None
    if '"$ref"' in text:
        raise BadTool("Arguments must not leave a choice between classes")
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise BadTool(
            f"the schema of Arguments is longer than {MAX_SCHEMA_CHARACTERS:,} characters"
        )
    for name in schema["properties"]:
        if not FIELD_NAME.fullmatch(name):
            raise BadTool(f"the argument {name[:80]!r} has no plain name")
    return model
