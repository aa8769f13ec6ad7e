"""The Git author is sent with each command, because a sandbox may be older than the agent's name."""

import uuid

import pytest

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxSpec

pytestmark = [pytest.mark.service, pytest.mark.anyio]
PRINT_AUTHOR = (
    'echo "$GIT_AUTHOR_NAME <$GIT_AUTHOR_EMAIL>, $GIT_COMMITTER_NAME <$GIT_COMMITTER_EMAIL>"'
)


async def test_commands_use_the_git_author_with_which_the_sandbox_was_last_opened(backend):
    opened, conversation = [], uuid.uuid4()
    for epoch, name in enumerate(("rosa", "ada"), 1):
        spec = SandboxSpec(conversation, git_name=name, git_email=f"{name}@example.org")
        sandbox = await backend.open(spec, epoch=epoch)
        opened.append(
            (
                sandbox.boot_id,
                (await sandbox.run(Command(f"who-{name}", shell=PRINT_AUTHOR))).output,
            )
        )
        await sandbox.detach()
    await backend.remove(conversation)
    assert [output for _, output in opened] == [
        "rosa <rosa@example.org>, rosa <rosa@example.org>\n",
        "ada <ada@example.org>, ada <ada@example.org>\n",
    ]
    assert opened[0][0] == opened[1][0], "it is the same sandbox"
