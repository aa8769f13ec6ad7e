"""The static files: the storage whose URLs contain a digest, and the imports of JavaScript modules.

The digest changes with the content of the files, so browsers keep them for ever. It is a prefix: ``/static/<digest>/paca/core/api.js``. File names stay as they are, so a
relative import in a JavaScript module leads to the file of the same version. Django's manifest storage
rewrites names inside modules instead, by a regular expression that cannot know JavaScript.

The web server's middleware serves these URLs. ``runserver --insecure`` without DEBUG serves no static
files: its own handler of static files answers first and does not know the digest.
"""

import hashlib
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest
from django.templatetags.static import static

STATIC_FOLDER = Path(__file__).resolve().parent / "static"
# Libraries whose static files are served; these change only with the version.
PACKAGES = ("django", "django-unfold", "drf-spectacular-sidecar")


class VersionedStaticFilesStorage(StaticFilesStorage):
    """Adds the digest to each URL. With DEBUG there is none: files may change while the server runs."""

    def url(self, name: str | None) -> str:
        """The URL of a static file; that of an empty name is the prefix of all of them."""
        name = name or ""
        return super().url(name if settings.DEBUG else f"{static_digest()}/{name.lstrip('/')}")


@cache
def static_digest() -> str:
    """Ten hexadecimal digits that stand for the content of all static files, computed once."""
    return compute_digest(STATIC_FOLDER)


def compute_digest(folder: Path) -> str:
    """The digest of the files in a folder and of the versions of ``PACKAGES``."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(folder)).encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    for package in PACKAGES:
        found.update(f"{package} {version(package)}".encode())
    return found.hexdigest()[:10]


def favicon_url(request: HttpRequest) -> str:
    """The URL of the icon, for the admin's setting SITE_FAVICONS."""
    return static("paca/icons/favicon.svg")


_IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?["'](\.[^"']+)["'];?$""", re.M)


@cache
def modules_of(entry: str) -> tuple[str, ...]:
    """The module and all that it imports, directly or not, as paths below ``static``; itself first.

    With these preloaded, the browser fetches the modules in parallel and not one after the other.
    """
    found = {STATIC_FOLDER / entry: None}
    pending = [STATIC_FOLDER / entry]
    while pending:
        module = pending.pop()
        for relative in _IMPORT.findall(module.read_text()):
            imported = (module.parent / relative).resolve()
            if imported not in found:
                found[imported] = None
                pending.append(imported)
    return tuple(str(path.relative_to(STATIC_FOLDER)) for path in found)
