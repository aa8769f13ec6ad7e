"""Conditions that are checked before Paca starts. A refused start leaves nothing behind."""

import errno
import fcntl
import ipaddress
import os
import platform
import socket
import tempfile
from pathlib import Path

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection

from paca.common.errors import ConfigurationError
from paca.ops import advice, database_check

MIN_SQLITE_VERSION = (3, 35, 0)  # the first with RETURNING, which the event log uses


def check_python() -> str:
    """Check SQLite's version and give the versions. ``manage.py`` has checked Python's own.

    Raises ``ConfigurationError`` if the database is SQLite and Python's SQLite is too old.
    """
    if not database_check.is_sqlite():
        return f"Python {platform.python_version()}"
    sqlite = connection.Database  # type: ignore[attr-defined] # the driver of the backend
    if sqlite.sqlite_version_info < MIN_SQLITE_VERSION:
        raise ConfigurationError(
            f"this Python contains SQLite {sqlite.sqlite_version}, and Paca needs 3.35 or newer.",
            next_step="use a newer Python: make clean run PYTHON=/path/to/python3",
        )
    return f"Python {platform.python_version()}, SQLite {sqlite.sqlite_version}"


def check_data_folder(folder: Path) -> str:
    """Check that the data folder can be written to or created, and give its path.

    Raises ``ConfigurationError`` if it cannot.
    """
    another = advice.start_command("PACA_DATA_DIR=/path")
    next_step = f"make it writable for this account, or choose another: {another}"
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
            f"the data folder {folder} cannot be created: {parent} is not a writable folder.",
            next_step=next_step,
        )
    return f"{folder} (new)"


def create_data_folder(folder: Path) -> None:
    """Create the data folder, accessible to this account only.

    Raises ``ConfigurationError`` if that fails.
    """
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise ConfigurationError(
            f"the data folder {folder} cannot be created ({error.strerror}).",
            next_step=f"choose another: {advice.start_command('PACA_DATA_DIR=/path')}",
        ) from error


def lock_data_folder(folder: Path, *, shared: bool = False) -> int:
    """Lock the data folder for this process, exclusively or together with other ``shared`` locks.

    Gives the file descriptor that holds the lock; the lock ends with the process.
    Raises ``ConfigurationError`` if another process holds the folder.
    """
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise ConfigurationError(
            f"another Paca (process {holder}) already uses the data folder {folder}.",
            next_step="use that one, stop it first, or use another data folder: "
            + advice.start_command("PACA_DATA_DIR=/path"),
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return handle


def lock_holder(folder: Path) -> int | None:
    """The process id that holds the data folder's lock, or None; 0 if the id is not written yet."""
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


def bind_listener(bind: str, port: int) -> socket.socket:
    """Bind the socket on which the server will listen, so that no other program takes the port.

    Raises ``ConfigurationError`` if the address or the port cannot be used.
    """
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
    # Connections in TIME_WAIT, left by a killed server, must not block the port.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
    except OSError as error:
        opened.close()
        raise _port_error(bind, port, error) from error
    return opened


def _port_error(bind: str, port: int, error: OSError) -> ConfigurationError:
    free = port + 1 if 1024 <= port < 65535 else 8000
    another = advice.start_command(f"PACA_PORT={free}")
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(
            f"port {port} on {bind} is in use by another program.",
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
    """Whether the address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def check_exposure(bind: str, *, admin_has_a_password: bool) -> str:
    """Check that the server may be reached from other machines, and describe who can reach it.

    Raises ``ConfigurationError`` with DEBUG, or while no administrator has a password.
    """
    if is_loopback(bind):
        return "reachable from this machine only"
    if settings.DEBUG:
        raise ConfigurationError(
            f"PACA_BIND is {bind}, which other machines can reach, and DEBUG shows them code and settings.",
            next_step="unset DEBUG, or stay on 127.0.0.1.",
        )
    if not admin_has_a_password and not settings.PACA_ADMIN_PASSWORD:
        raise ConfigurationError(
            f"PACA_BIND is {bind}, which other machines can reach, and the admin has no password yet.",
            next_step="set PACA_ADMIN_PASSWORD, or start on 127.0.0.1 once and choose a password there.",
        )
    return f"reachable from other machines on {bind}"


def check_admin_password() -> None:
    """Check the strength of PACA_ADMIN_PASSWORD, if it is set.

    Raises ``ConfigurationError`` if it is too weak.
    """
    if not settings.PACA_ADMIN_PASSWORD:
        return
    try:
        validate_password(settings.PACA_ADMIN_PASSWORD)
    except ValidationError as error:
        raise ConfigurationError(
            f"PACA_ADMIN_PASSWORD is too weak. {' '.join(error.messages)}",
            next_step="choose a longer one, or unset it: Paca then prints a one-time link.",
        ) from error
