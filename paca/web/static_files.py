"""The address of static files: it changes with their content, so that browsers keep them for ever.

Names inside a module stay as they are written: with the version in the prefix, a relative import
leads to the file of the same version. Rewriting names in modules, as Django's manifest storage
does, would be a guess by regular expression.
"""

import hashlib
from importlib.metadata import version
from pathlib import Path

OWN = Path(__file__).resolve().parent / "static"
# Others whose files are served; they change only with their version.
PACKAGES = ("django", "django-unfold", "drf-spectacular-sidecar")


def digest() -> str:
    """Ten signs that name this state of all static files."""
    found = hashlib.sha256()
    for path in sorted(OWN.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(OWN)).encode())
            found.update(hashlib.sha256(path.read_bytes()).digest())
    for package in PACKAGES:
        found.update(f"{package} {version(package)}".encode())
    return found.hexdigest()[:10]


def never_changes(_path: str, _url: str) -> bool:
    """Whether a file may be kept for ever: all may, their address holds the digest."""
    return True
