"""The two secrets of an installation: from the environment, else from files in the data folder."""

import base64
import binascii
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from paca.common.errors import ConfigurationError

SECRET_KEY_FILE = "secret_key"  # noqa: S105 - the name of a file
ENCRYPTION_KEY_FILE = "encryption_key"


@dataclass(frozen=True, slots=True)
class Keys:
    """Both secrets; ``new`` holds, by file name, those made just now that stand nowhere yet.

    ``of_folder`` names the files of those that the environment did not give.
    """

    secret_key: str
    encryption_keys: list[str]
    new: dict[str, str]
    of_folder: frozenset[str]

    def keep(self, folder: Path) -> list[str]:
        """Write the new ones, readable by this account only, and say which files that were."""
        kept = list(self.new)
        for name in kept:
            _write_once(folder / name, self.new[name])
            del self.new[name]
        return kept


def read(folder: Path, *, secret_key: str, encryption_keys: list[str]) -> Keys:
    """The secrets as given, else as kept in ``folder``, else made and not yet kept.

    Reading never writes: a start that is refused for another reason leaves nothing behind.
    """
    new: dict[str, str] = {}
    given = {SECRET_KEY_FILE: secret_key, ENCRYPTION_KEY_FILE: encryption_keys}
    of_folder = frozenset(name for name, value in given.items() if not value)
    place = ""
    if not secret_key:
        place = f" (in {folder / SECRET_KEY_FILE})"
        secret_key = _kept_or_new(folder / SECRET_KEY_FILE, secrets.token_urlsafe(48), new)
    _refuse_weak_secret_key(secret_key, f"SECRET_KEY{place}")
    place = ""
    if not encryption_keys:
        place = f" (in {folder / ENCRYPTION_KEY_FILE})"
        fresh = base64.urlsafe_b64encode(os.urandom(32)).decode()
        text = _kept_or_new(folder / ENCRYPTION_KEY_FILE, fresh, new)
        encryption_keys = [key.strip() for key in text.split(",")]
    for key in encryption_keys:
        _refuse_bad_encryption_key(key, f"ENCRYPTION_KEY{place}")
    return Keys(secret_key, encryption_keys, new, of_folder)


def _kept_or_new(path: Path, fresh: str, new: dict[str, str]) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigurationError(
                f"{path} can be read by other accounts of this machine.",
                next_step=f"chmod 600 {path}",
            )
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        new[path.name] = fresh
        return fresh
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path} cannot be read ({_reason(error)}).",
            next_step="restore it from your backup, with mode 0600 and owned by the account that runs Paca.",
        ) from error


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not text"


def _refuse_weak_secret_key(key: str, where: str) -> None:
    if len(key) < 32 or len(set(key)) < 8 or key.startswith("django-insecure-"):
        raise ConfigurationError(
            f"{where} is too weak: it needs at least 32 random characters.",
            next_step="unset it to let Paca make one, or make one with: openssl rand -base64 48",
        )


def _refuse_bad_encryption_key(key: str, where: str) -> None:
    try:
        raw = base64.b64decode(key, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32 or len(set(raw)) < 8:
        raise ConfigurationError(
            f"{where} is not a usable Fernet key (32 random bytes, as URL-safe base64).",
            next_step="unset it to let Paca make one, or make one with: openssl rand -base64 32 | tr '+/' '-_'",
        )


def _write_once(path: Path, text: str) -> None:
    """Make the file whole or not at all, and never over one that is there."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, fails if another start was quicker
    except FileExistsError:
        raise ConfigurationError(
            f"another start has just made {path}.", next_step="run this again."
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}).", next_step="make room on its disk."
        ) from error
    finally:
        draft.unlink()
