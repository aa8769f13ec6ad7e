"""The two secrets of an installation: from the environment, else from files in the data folder."""

import base64
import binascii
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from paca.common.errors import ConfigurationError

SECRET_KEY_FILE = "secret_key"  # noqa: S105 - the name of a file
ENCRYPTION_KEY_FILE = "encryption_key"


@dataclass(frozen=True, slots=True)
class InstallationKeys:
    """Both secrets.

    ``unsaved`` holds, by file name, the secrets that were just generated and are in no file yet.
    ``from_files`` names the files of the secrets that the environment does not give.
    """

    secret_key: str
    encryption_keys: list[str]
    unsaved: dict[str, str]
    from_files: frozenset[str]

    def save(self, folder: Path) -> list[str]:
        """Write the unsaved secrets, readable by this account only. Gives the names of the files.

        Raises ``ConfigurationError`` if a file exists by now or cannot be written.
        """
        saved = list(self.unsaved)
        for name in saved:
            _write_once(folder / name, self.unsaved[name])
            del self.unsaved[name]
        return saved


def cookie_name(purpose: str, secret_key: str) -> str:
    """The name of a cookie of this installation.

    Browsers send the cookies of a host to all its ports, so installations beside each other need
    different names. All processes of an installation have the same secret key.
    """
    digest = hmac.digest(secret_key.encode(), b"paca.cookie_name", "sha256")
    return f"paca_{purpose}_{digest.hex()[:8]}"


def load(folder: Path, *, secret_key: str, encryption_keys: list[str]) -> InstallationKeys:
    """The secrets as given, else from the files in ``folder``, else newly generated and unsaved.

    Loading never writes: a start that is refused for another reason leaves nothing behind.
    Raises ``ConfigurationError`` if a secret is weak, malformed or in a file that cannot be used.
    """
    unsaved: dict[str, str] = {}
    given = {SECRET_KEY_FILE: secret_key, ENCRYPTION_KEY_FILE: encryption_keys}
    from_files = frozenset(name for name, value in given.items() if not value)
    location = ""
    if not secret_key:
        location = f" (in {folder / SECRET_KEY_FILE})"
        secret_key = _read_or_use(folder / SECRET_KEY_FILE, secrets.token_urlsafe(48), unsaved)
    _refuse_weak_secret_key(secret_key, f"SECRET_KEY{location}")
    location = ""
    if not encryption_keys:
        location = f" (in {folder / ENCRYPTION_KEY_FILE})"
        generated = base64.urlsafe_b64encode(os.urandom(32)).decode()
        text = _read_or_use(folder / ENCRYPTION_KEY_FILE, generated, unsaved)
        encryption_keys = [key.strip() for key in text.split(",")]
    for key in encryption_keys:
        _refuse_bad_encryption_key(key, f"ENCRYPTION_KEY{location}")
    return InstallationKeys(secret_key, encryption_keys, unsaved, from_files)


def _read_or_use(path: Path, generated: str, unsaved: dict[str, str]) -> str:
    """The secret in the file; without a file, the generated one, which becomes unsaved."""
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigurationError(
                f"{path} can be read by other accounts of this machine.",
                next_step=f"chmod 600 {path}",
            )
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        unsaved[path.name] = generated
        return generated
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
            next_step="unset it to let Paca generate one, or use: openssl rand -base64 48",
        )


def _refuse_bad_encryption_key(key: str, where: str) -> None:
    try:
        raw = base64.b64decode(key, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32 or len(set(raw)) < 8:
        raise ConfigurationError(
            f"{where} is not a usable Fernet key (32 random bytes, as URL-safe base64).",
            next_step="unset it to let Paca generate one, or use: openssl rand -base64 32 | tr '+/' '-_'",
        )


def _write_once(path: Path, text: str) -> None:
    """Write the file completely or not at all, and never replace one."""
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
            f"another start has just written {path}.", next_step="run this again."
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}).", next_step="free space on its disk."
        ) from error
    finally:
        draft.unlink()
