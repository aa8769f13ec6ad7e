"""What must be so before Paca starts. These checks make nothing, so a refused start leaves nothing."""

import errno
import fcntl
import ipaddress
import os
import platform
import socket
import sys
import tempfile
from pathlib import Path

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection

from paca.common.errors import ConfigurationError
from paca.ops import database_check

LEAST_SQLITE = (3, 35, 0)  # the first that answers RETURNING, which the event log uses


def manage(command: str) -> str:
    """How a person at this machine types a command of ours."""
    venv = settings.BASE_DIR / ".venv"
    ours = Path(sys.prefix) == venv
    return f"{'.venv/bin/python' if ours else 'python3'} manage.py {command}"


def interpreter() -> str:
    """The versions; Python's own was checked by ``manage.py`` already."""
    if not database_check.is_file():
        return f"Python {platform.python_version()}"
    sqlite = connection.Database  # type: ignore[attr-defined] # the driver of the backend
    if sqlite.sqlite_version_info < LEAST_SQLITE:
        raise ConfigurationError(
            f"this Python brings SQLite {sqlite.sqlite_version}, and Paca needs 3.35 or newer.",
            next_step="use a newer Python: make clean run PYTHON=/path/to/python3",
        )
    return f"Python {platform.python_version()}, SQLite {sqlite.sqlite_version}"


def data_folder(folder: Path) -> str:
    """Whether the folder can be used, or made."""
    next_step = "make it writable for this account, or choose another: PACA_DATA_DIR=/path make run"
    if folder.exists():
        try:
            with tempfile.TemporaryFile(dir=folder):
                return f"{folder}"
        except OSError as error:
            raise ConfigurationError(
                f"the data folder {folder} cannot be written to ({error.strerror}).",
                next_step=next_step,
            ) from error
    parent = next(each for each in folder.parents if each.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise ConfigurationError(
            f"the data folder {folder} cannot be made: {parent} is not a writable folder.",
            next_step=next_step,
        )
    return f"{folder} (new)"


def make_folder(folder: Path) -> None:
    """The data folder, for this account only."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise ConfigurationError(
            f"the data folder {folder} cannot be made ({error.strerror}).",
            next_step="choose another: PACA_DATA_DIR=/path make run",
        ) from error


def lock(folder: Path, *, shared: bool = False) -> int:
    """Hold the data folder for this process, alone or with others that hold it ``shared``.

    The lock goes with the process, however it ends.
    """
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise ConfigurationError(
            f"another Paca (process {holder}) already runs on the data folder {folder}.",
            next_step="use that one, stop it first, or start this one elsewhere: PACA_DATA_DIR=/path make run",
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def holder(folder: Path) -> int | None:
    """The process that runs on the data folder, if one does."""
    try:
        handle = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.pread(handle, 20, 0) or 0)
    else:
        return None
    finally:
        os.close(handle)


def listener(bind: str, port: int) -> socket.socket:
    """The socket the server will listen on: bound now, so that nobody can take it meanwhile."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            bind, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, proto)
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(
            f"PACA_BIND is {bind!r}, which is not an address of this machine ({error}).",
            next_step="use 127.0.0.1, or 0.0.0.0 for every address.",
        ) from error
    # A server that was killed leaves connections in TIME_WAIT, which must not keep the next one out.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise _no_port(bind, port, error) from error
    return opened


def _no_port(bind: str, port: int, error: OSError) -> ConfigurationError:
    another = f"PACA_PORT={port + 1 if 1024 <= port < 65535 else 8000} make run"
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(
            f"port {port} on {bind} is taken by another program.",
            next_step=f"stop that program, or use another port: {another}",
        )
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"this account may not listen on port {port}.",
            next_step=f"use a port above 1023: {another}",
        )
    return ConfigurationError(
        f"PACA_BIND is {bind!r}, which is not an address of this machine ({error.strerror}).",
        next_step="use 127.0.0.1, or 0.0.0.0 for every address.",
    )


def is_loopback(bind: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def exposure(bind: str, *, admin_has_a_password: bool) -> str:
    """Refuse to be reachable from outside while that would be careless."""
    if is_loopback(bind):
        return "reachable from this machine only"
    if settings.DEBUG:
        raise ConfigurationError(
            f"PACA_BIND is {bind}, which others can reach, and DEBUG shows them the code and settings.",
            next_step="unset DEBUG, or stay on 127.0.0.1.",
        )
    if not admin_has_a_password and not settings.PACA_ADMIN_PASSWORD:
        raise ConfigurationError(
            f"PACA_BIND is {bind}, which others can reach, and the admin has no password yet.",
            next_step="set PACA_ADMIN_PASSWORD, or start on 127.0.0.1 once and choose one there.",
        )
    return f"reachable from outside on {bind}"


def admin_password() -> None:
    """Refuse a password that would be guessed."""
    if not settings.PACA_ADMIN_PASSWORD:
        return
    try:
        validate_password(settings.PACA_ADMIN_PASSWORD)
    except ValidationError as error:
        raise ConfigurationError(
            f"PACA_ADMIN_PASSWORD is too weak. {' '.join(error.messages)}",
            next_step="choose a longer one, or unset it: Paca then prints a one-time link.",
        ) from error
