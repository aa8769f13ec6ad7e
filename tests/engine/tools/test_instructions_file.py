"""AGENTS.md of a workspace, as it is read for the model."""

import pytest

from paca.engine.tools.instructions_file import MAX_CHARACTERS, read_instructions
from paca.engine.workspace import OutsideWorkspace, SandboxGone
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

pytestmark = pytest.mark.anyio


async def read(content: bytes | str | None, *, shown: str = "") -> tuple[str, bool] | None:
    workspace = FakeSandboxWorkspace({} if content is None else {"AGENTS.md": content})
    event = await read_instructions(workspace, shown=shown)
    return None if event is None else (event.text, event.truncated)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, None),
        ("", None),
        (" \n", None),
        ("Run make.\n", ("Run make.", False)),
        (b"a\xff\0b", ("a\ufffd\u2400b", False)),
        ("ü" * MAX_CHARACTERS, ("ü" * MAX_CHARACTERS, False)),
        ("🛶" * (MAX_CHARACTERS + 9), ("🛶" * MAX_CHARACTERS, True)),
    ],
)
async def test_file_is_read_up_to_its_limit(
    content: bytes | str | None, expected: tuple[str, bool] | None
) -> None:
    assert await read(content) == expected


async def test_text_that_was_shown_is_not_shown_again() -> None:
    assert await read("Run make.\n", shown="Run make.") is None
    assert await read("Run tox.\n", shown="Run make.") == ("Run tox.", False)


@pytest.mark.parametrize("error", [OutsideWorkspace, SandboxGone])
async def test_file_that_cannot_be_read_is_as_none(error: type[Exception]) -> None:
    class Broken(FakeSandboxWorkspace):
        async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
            raise error

    assert await read_instructions(Broken(), shown="") is None
