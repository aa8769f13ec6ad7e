"""The toolbox of an agent: finds tools by name, describes them to the model and to the API."""

import difflib
import functools
import inspect
import json
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from paca.common.errors import PacaError
from paca.engine.llm.base import ToolSpec
from paca.engine.tools.background import BackgroundRun, CheckBackground, StopBackground
from paca.engine.tools.base import AnyParsedCall, AnyTool, Effect, ParsedCall
from paca.engine.tools.bash import Bash
from paca.engine.tools.coercion import coerce
from paca.engine.tools.compact import CompactContext
from paca.engine.tools.editing import EditFile, WriteFile
from paca.engine.tools.files import ReadFile
from paca.engine.tools.git import GitDiff, GitLog, GitStatus
from paca.engine.tools.listing import ListDirectory
from paca.engine.tools.schema import argument_schema, describe_errors, short_json
from paca.engine.tools.search import SearchFiles
from paca.engine.tools.think import Think
from paca.engine.tools.todo import WriteTodoList

# Models try the names that other products use for the same tool.
ALIASES = {
    "background_run": "run_in_background run_background start_background background bash_background",
    "check_background": "bash_output background_output list_background read_background get_background",
    "stop_background": "kill_bash kill_shell kill_background cancel_background",
    "bash": "shell run exec execute command terminal run_command execute_command run_bash",
    "compact_context": "compact compact_conversation summarize summarise summarize_context",
    "ask_person": "ask ask_user ask_human ask_question ask_followup_question question",
    "propose_plan": "exit_plan_mode plan submit_plan present_plan create_plan",
    "update_plan": "mark_step complete_step plan_step",
    "read_file": "cat view open view_file open_file read",
    "write_file": "create create_file save write new_file",
    "write_todo_list": "todo_write todo todo_list write_todos update_todos set_todos todo_update update_plan",
    "edit_file": "str_replace replace replace_in_file patch apply_patch edit modify_file",
    "list_directory": "ls list list_files glob find find_files",
    "search_files": "grep search rg ripgrep search_code find_in_files",
    "read_project": "get_project list_members list_users list_sprints list_statuses list_labels",
    "list_tasks": "get_tasks list_issues my_tasks search_tasks",
    "read_task": "get_task view_task get_issue read_issue list_comments get_comments read_comments",
    "create_task": "new_task add_task create_issue create_subtask",
    "update_task": (
        "set_task_status set_status change_status move_task close_task assign_task assign edit_task"
        " update_issue add_label"
    ),
    "add_comment": "comment create_comment post_comment comment_on_task reply write_comment",
    "read_doc": "get_doc view_doc open_doc",
    "create_doc": "new_doc add_doc",
    "update_doc": "write_doc edit_doc append_doc change_doc",
    "save_attachment": "read_attachment get_attachment download_attachment open_attachment",
    "search_project": "search_tasks search_docs find_tasks",
}


class UnknownTool(PacaError):
    """There is no tool of this name."""

    code = "unknown_tool"


class BadArguments(PacaError):
    """The arguments do not fit the tool."""

    code = "bad_arguments"


def changes_something(tool: AnyTool) -> bool:
    """Whether a call of the tool may change files, the project, or anything else outside of the agent."""
    # guard: read-only-tools-change-nothing
    return tool.effect is not Effect.READ_ONLY and not tool.only_thinks


class Toolbox:
    """A set of tools with distinct names."""

    def __init__(
        self, tools: Iterable[AnyTool], *, off: Collection[str] = (), read_only: bool = False
    ) -> None:
        """``off`` names the tools that are switched off: the model neither sees nor calls them.

        With ``read_only`` the same holds for every tool that changes something. Raises ``ValueError`` if two tools
        have the same name.
        """
        self._read_only = read_only
        self._tools: dict[str, AnyTool] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise ValueError(f"two tools are named {tool.name!r}")
        self._on = {
            name: tool
            for name, tool in self._tools.items()
            if name not in off and not (read_only and changes_something(tool))
        }
        # The specs are part of every request's prefix. A fixed order keeps prompt caches valid.
        self._specs = tuple(tool.own_spec or _spec(type(tool)) for tool in self._on.values())
        self._schemas = {spec.name: spec.arguments for spec in self._specs}

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them, always in the same order."""
        return self._specs

    @functools.cached_property
    def characters(self) -> int:
        """The length of the specs in a request, about."""
        return sum(
            len(spec.name) + len(spec.description) + len(json.dumps(spec.arguments))
            for spec in self._specs
        )

    def get(self, name: str) -> AnyTool:
        """The tool of this name, also if it was switched off since it was called.

        Raises ``UnknownTool``, whose text lists the known names.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(self._unknown_tool_message(name))
        return tool

    def has(self, name: str) -> bool:
        """Whether the tool ``name`` is switched on."""
        return name in self._on

    def _callable(self, name: str) -> AnyTool:
        tool = self.get(name)
        # guard: tool-that-is-switched-off
        if name not in self._on:
            raise UnknownTool(self._switched_off_message(tool))
        return tool

    def parse(self, tool_name: str, arguments: Any) -> AnyParsedCall:
        """Find the tool and check the arguments that the model gave.

        What can be meant in one way only is taken, with a note for the model. Raises ``UnknownTool`` or ``BadArguments``; their texts tell the model how to correct the call.
        """
        tool = self._callable(tool_name)
        if not isinstance(arguments, dict):
            raise BadArguments(
                f"{tool_name} did not run: expected an object of arguments; got {short_json(arguments)}."
            )
        schema = self._schemas[tool_name]
        meant, notes = coerce(arguments, schema, takes_other_fields=tool.takes_other_fields)
        with suppress(ValidationError):
            return ParsedCall(tool, tool.Arguments.model_validate(meant), tuple(notes))
        try:  # the errors are about what the model wrote
            return ParsedCall(tool, tool.Arguments.model_validate(arguments))
        except ValidationError as error:
            wrong = "\n".join(f"- {line}" for line in describe_errors(error, schema, arguments))
            raise BadArguments(
                f"{tool_name} did not run: its arguments do not fit.\n{wrong}\n{_accepted_arguments(schema)}"
            ) from error

    def explain_unreadable(self, tool_name: str, problem: str) -> str:
        """The result of a call whose arguments could not be read, with the schema for the next try."""
        try:
            self._callable(tool_name)
        except UnknownTool as error:
            return error.detail
        schema = json.dumps(self._schemas[tool_name])
        return (
            f"{tool_name} did not run: its arguments could not be read. {problem}\n"
            f"Send one JSON object that fits this schema: {schema}"
        )

    def catalogue(self) -> list[dict[str, Any]]:
        """Every tool as a JSON object, as the API lists it."""
        return [
            {
                "name": spec.name,
                "description": spec.description,
                "arguments": spec.arguments,
                "effect": str(tool.effect),
                "safe": tool.safe,
                "timeout_seconds": tool.timeout_seconds,
                "package": tool.package,
            }
            for spec, tool in zip(self._specs, self._on.values(), strict=True)
        ]

    def _switched_off_message(self, tool: AnyTool) -> str:
        if self._read_only and changes_something(tool):
            why = (
                "you have read-only tools in this conversation. Do not try again; say in your answer what should be"
                " changed."
            )
        else:
            why = (
                "it is switched off in your settings. Do not try again; do without it, or say what you would need it"
                " for."
            )
        return f"{tool.name} did not run: {why} {self._list_of_tools()}"

    def _unknown_tool_message(self, name: str) -> str:
        asked = name.lower()
        exact = [t for t in self._on if t == asked or asked in ALIASES.get(t, "").split()]
        close = exact or difflib.get_close_matches(asked, self._on, n=2)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        return f"There is no tool {short_json(name)}.{hint} {self._list_of_tools()}"

    def _list_of_tools(self) -> str:
        return f"The tools are: {', '.join(self._on)}." if self._on else "You have no tools."


def workspace_tools() -> tuple[AnyTool, ...]:
    """New instances of all tools that need nothing but the sandbox workspace."""
    return (
        BackgroundRun(),
        Bash(),
        CheckBackground(),
        CompactContext(),
        EditFile(),
        GitDiff(),
        GitLog(),
        GitStatus(),
        ListDirectory(),
        ReadFile(),
        SearchFiles(),
        StopBackground(),
        Think(),
        WriteFile(),
        WriteTodoList(),
    )


@functools.cache
def _spec(tool: type[AnyTool]) -> ToolSpec:
    """The tool as the model sees it.

    Cached for each class: making a schema is slow, and each turn makes a toolbox of its own.
    """
    # A docstring is wrapped for readers of the code. The model and the page get whole paragraphs.
    description = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(tool.__doc__ or ""))
    return ToolSpec(tool.name, description, argument_schema(tool.Arguments))


def _accepted_arguments(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    fields = [f"{name} (required)" if name in required else name for name in schema["properties"]]
    return f"It takes: {', '.join(fields) or 'nothing'}."
