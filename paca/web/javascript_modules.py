"""The imports of our JavaScript modules, so that a page can preload all it needs."""

import re
from functools import cache

from paca.web.static_storage import STATIC_FOLDER

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
