"""The base of MCP tools, and the types of their arguments."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Generic, TypeVar
from urllib.parse import unquote_plus
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from paca.common.text import is_storable
from paca.mcp_server.call import Call

HIGHEST_NUMBER = 2**31 - 1
PAGE_ROWS, MAX_ROWS = 200, 1000


class Arguments(BaseModel):
    """The arguments of a tool. A name that it does not know is an error and not ignored."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(Arguments):
    """A tool without arguments."""


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


class McpTool(ABC, Generic[ArgumentsT]):
    """One tool. Its docstring is what the model of the client reads.

    The permission that it needs is that of the addresses it asks. No tool decides an approval, answers a
    question or approves a plan: another model would then decide in place of a person.
    """

    name: ClassVar[str]
    arguments: type[ArgumentsT]
    is_read_only: ClassVar[bool] = False

    @property
    def description(self) -> str:
        """The docstring of the class."""
        return inspect.cleandoc(type(self).__doc__ or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, without the titles that pydantic adds."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema

    @abstractmethod
    async def act(self, arguments: ArgumentsT, call: Call) -> Any:
        """Carry the call out and give what JSON can hold. Raises ``Refused`` as the API answers."""


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("text without NUL characters and lone surrogates")
    return text


def _number_of_key(value: Any) -> Any:
    """A task by its number, or by its key such as ``PACA-42``."""
    found = (
        re.fullmatch(r"(?:[A-Za-z][A-Za-z0-9]*-)?([0-9]{1,10})", value)
        if isinstance(value, str)
        else None
    )
    return int(found[1]) if found else value


Text = Annotated[str, AfterValidator(_storable)]
ProjectId = Annotated[UUID, Field(description="From list_projects.")]
TaskNumber = Annotated[
    int,
    BeforeValidator(_number_of_key),
    Field(ge=1, le=HIGHEST_NUMBER, description="Number of a task: 42 for PACA-42."),
]
Limit = Annotated[int, Field(ge=1, le=50)]
Cursor = Annotated[Text, Field(max_length=1000, description="From next of the last page.")]
# An asterisk would mean any.
UpdatedAt = Annotated[Text, Field(max_length=64, pattern=r"^([0-9].*)?$")]
IdempotencyKey = Annotated[
    Text,
    Field(
        max_length=255,
        description="Your own key of this call. Sent again within a day with the same arguments, it does nothing and gives the first answer.",
    ),
]


def page(answer: dict[str, Any], rows: list[Any]) -> dict[str, Any]:
    """A page of a list, with the cursor of the next one if there is one."""
    found = re.search(r"[?&]cursor=([^&]+)", answer.get("next") or "")
    return {"results": rows, **({"next": unquote_plus(found[1])} if found else {})}


async def all_rows(call: Call, *path: object, **query: object) -> list[Any]:
    """The rows of all pages of a list, up to ``MAX_ROWS``. Raises ``Refused``."""
    found: list[Any] = []
    cursor = ""
    while len(found) < MAX_ROWS:
        answer = await call.rest.get(*path, limit=PAGE_ROWS, cursor=cursor, **query)
        shown = page(answer, answer["results"])
        found += shown["results"]
        if not (cursor := shown.get("next", "")):
            break
    return found


def given(arguments: Arguments, *left_out: str) -> dict[str, Any]:
    """The arguments that the caller has sent, as JSON, without the named ones."""
    return arguments.model_dump(mode="json", exclude_unset=True, exclude=set(left_out))
