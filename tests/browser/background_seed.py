"""A conversation with commands in the background, made by ``manage.py shell``; no worker has their sandbox."""

from uuid import UUID, uuid4

from paca import events
from paca.conversations import store
from paca.conversations.models import BackgroundCommand
from tests.browser.row_kinds import stopped_chat

BOOT = "boot-of-a-test"
LONG = "npm run build -- --configuration=production && " + "x" * 200 + " \u202e"


def conversation() -> UUID:
    """Make the conversation, with a server and a long build."""
    made = stopped_chat("Serve the page")
    store.append(made, events.SandboxStarted(backend="none", boot_id=BOOT))
    for handle, command in (("bg1", "python3 -m http.server 8000"), ("bg2", LONG)):
        store.append(
            made,
            events.BackgroundStarted(
                call_id=uuid4().hex,
                handle=handle,
                command=command,
                boot_id=BOOT,
                timeout_seconds=3600.0,
            ),
        )
    rows = BackgroundCommand.objects.filter(conversation=made)
    rows.filter(handle="bg1").update(output="Serving HTTP on 0.0.0.0 port 8000\n")
    lines = "\n".join(f"[{n}/120] compiling module {n}" for n in range(20))
    rows.filter(handle="bg2").update(output=lines)
    return made


def end_all() -> UUID:
    """End the commands that run: one by a person, the other with an error."""
    [conversation_id] = {each.conversation_id for each in BackgroundCommand.objects.running()}
    for each in BackgroundCommand.objects.running().order_by("handle"):
        facts = (
            {"cause": "cancelled", "by": "admin", "seconds": 61.0}
            if each.stop_requested_at
            else {"exit_code": 2, "seconds": 95.0, "output": "error: no such module\n"}
        )
        ended = events.BackgroundFinished(
            call_id=each.pk.hex, handle=each.handle, command=each.command[:40], **facts
        )
        store.append(conversation_id, ended)
    return conversation_id
