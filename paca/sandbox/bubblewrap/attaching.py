"""Connects a worker to the runner of a bubblewrap sandbox, by the socket in its directory."""

import socket

from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, short_folder_path
from paca.sandbox.runner_client import Attachment

ATTACH_SECONDS = 10.0


async def attach_to_runner(
    directory: SandboxDirectory,
    epoch: int,
    unattended_seconds: float | None = None,
    *,
    session: str = "",
) -> Attachment:
    """Become the worker of the runner in this ``session``. Raises ``OSError``, ``SandboxGone``, ``Superseded`` or ``TimeoutError``."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        with short_folder_path(directory.folder) as folder:
            connection.connect(f"{folder}/socket")
        return await Attachment.from_socket(
            connection,
            epoch=epoch,
            seconds=ATTACH_SECONDS,
            unattended_seconds=unattended_seconds,
            session=session,
        )
    except BaseException:
        connection.close()
        raise
