"""The address of static files: it changes with their content, so that browsers keep them for ever.

Names inside a module stay as they are written: with the version in the prefix, a relative import
leads to the file of the same version. Rewriting names in modules, as Django's manifest storage
does, would be a guess by regular expression.
"""

import hashlib
import re
from functools import cache
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


_IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?["'](\.[^"']+)["'];?$""", re.M)


@cache
def modules_of(entry: str) -> tuple[str, ...]:
    """The modules which this one needs before it can run, itself first.

    Told to the browser in the page, they are fetched together and not one after the other.
    """
    found = {OWN / entry: None}
    waiting = [OWN / entry]
    while waiting:
        module = waiting.pop()
        for relative in _IMPORT.findall(module.read_text()):
            needed = (module.parent / relative).resolve()
            if needed not in found:
                found[needed] = None
                waiting.append(needed)
    return tuple(str(path.relative_to(OWN)) for path in found)
