"""The tools an agent has: by name, as a model sees them, and as the API lists them."""

import difflib
import functools
import inspect
import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from paca.common.errors import PacaError
from paca.engine.llm.base import ToolSpec
from paca.engine.tools.base import Tool, ToolArguments
from paca.engine.tools.bash import Bash
from paca.engine.tools.editing import EditFile, WriteFile
from paca.engine.tools.files import ReadFile
from paca.engine.tools.git import GitDiff, GitLog, GitStatus
from paca.engine.tools.listing import ListDirectory
from paca.engine.tools.schema import argument_schema, complaints, shown
from paca.engine.tools.search import SearchFiles
from paca.engine.tools.think import Think

# Names under which other products offer the same, and which models therefore try.
ALIASES = {
    "bash": "shell run exec execute command terminal run_command execute_command run_bash",
    "read_file": "cat view open view_file open_file read",
    "write_file": "create create_file save write new_file",
    "edit_file": "str_replace replace replace_in_file patch apply_patch edit modify_file",
    "list_directory": "ls list list_files glob find find_files",
    "search_files": "grep search rg ripgrep search_code find_in_files",
}


class UnknownTool(PacaError):
    """There is no tool of this name."""

    code = "unknown_tool"


class BadArguments(PacaError):
    """The arguments do not fit the tool."""

    code = "bad_arguments"


class Toolbox:
    """Some tools, one of each name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise ValueError(f"two tools are named {tool.name!r}")
        # Part of every request's prefix: made once, in a fixed order, so that caches hold.
        self._specs = tuple(_spec(type(tool)) for tool in self._tools.values())
        self._schemas = {spec.name: spec.arguments for spec in self._specs}

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model sees them: always the same bytes in the same order."""
        return self._specs

    def get(self, name: str) -> Tool:
        """The tool of this name. Raises ``UnknownTool`` with the names there are."""
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(self._advice(name))
        return tool

    def parse(self, tool_name: str, arguments: Any) -> tuple[Tool, ToolArguments]:
        """The tool and its checked arguments; what is raised is a result the model can use."""
        tool = self.get(tool_name)
        if not isinstance(arguments, dict):
            raise BadArguments(
                f"{tool_name} did not run: expected an object of arguments; got {shown(arguments)}."
            )
        try:
            return tool, tool.Arguments.model_validate(arguments)
        except ValidationError as error:
            schema = self._schemas[tool_name]
            wrong = "\n".join(f"- {line}" for line in complaints(error, schema, arguments))
            raise BadArguments(
                f"{tool_name} did not run: its arguments do not fit.\n{wrong}\n{_takes(schema)}"
            ) from error

    def catalogue(self) -> list[dict[str, Any]]:
        """Every tool as a JSON object, for people who decide which an agent may use."""
        return [
            {
                "name": spec.name,
                "description": spec.description,
                "arguments": spec.arguments,
                "effect": str(tool.effect),
                "safe": tool.safe,
                "timeout_seconds": tool.timeout_seconds,
            }
            for spec, tool in zip(self._specs, self._tools.values(), strict=True)
        ]

    def _advice(self, name: str) -> str:
        asked = name.lower()
        meant = [t for t in self._tools if t == asked or asked in ALIASES.get(t, "").split()]
        alike = meant or difflib.get_close_matches(asked, self._tools, n=2)
        hint = f" Did you mean {' or '.join(alike)}?" if alike else ""
        return f"There is no tool {shown(name)}.{hint} The tools are: {', '.join(self._tools)}."


def workspace_tools() -> tuple[Tool, ...]:
    """A fresh set of every tool that needs the workspace only."""
    return (
        Bash(),
        EditFile(),
        GitDiff(),
        GitLog(),
        GitStatus(),
        ListDirectory(),
        ReadFile(),
        SearchFiles(),
        Think(),
        WriteFile(),
    )


@functools.cache
def _spec(tool: type[Tool]) -> ToolSpec:
    """Made once a class: a schema takes as long as a model call, and each turn has its toolbox."""
    # Lines are broken for readers of the code; the model and the page get whole paragraphs.
    description = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(tool.__doc__ or ""))
    return ToolSpec(tool.name, description, argument_schema(tool.Arguments))


def _takes(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    fields = [f"{name} (required)" if name in required else name for name in schema["properties"]]
    return f"It takes: {', '.join(fields) or 'nothing'}."
